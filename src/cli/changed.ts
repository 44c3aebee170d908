import type { KubeObject, Resource } from '#api/meta.ts';
import type { Cli } from './context.ts';
import { nameOfObject } from './kinds.ts';
import { formatObjectData, type OutputFormat } from './output.ts';

/** Tells what was done to objects: a line each, or the objects as they are now. */
export function printChanged(
  { terminal }: Cli,
  resource: Resource,
  objects: readonly KubeObject[],
  { format, word }: { format: OutputFormat; word: string },
): void {
  if (format === 'json' || format === 'yaml') {
    terminal.print(formatObjectData(objects, { format, single: true }));
    return;
  }
  for (const { metadata } of objects) {
    const name = nameOfObject(resource, metadata.name);
    terminal.print(format === 'name' ? name : `${name} ${word}`);
  }
}
