import { stringify } from 'yaml';
import type { KubeObject, Resource } from '#api/meta.ts';
import { formatObjects } from './columns.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { nameOfObject } from './kinds.ts';

export const outputFormats = ['table', 'wide', 'yaml', 'json', 'name'] as const;
export type OutputFormat = (typeof outputFormats)[number];
/** For the help of `-o`. */
export const outputHelp = 'table, wide, yaml, json or name';

/** Checks the value of `-o` against what the command knows. Throws `usage`. */
export function parseOutputFormat<Format extends OutputFormat>(
  text: string,
  known: readonly Format[],
): Format {
  const found = known.find((format) => format === text);
  if (found !== undefined) return found;
  throw new CliError(exitCodes.usage, `-o ${text} is unknown`, `Use one of ${known.join(', ')}.`);
}

/** Of an answer that is no list of objects: as data, when data was asked for. */
export function formatData(value: unknown, format: OutputFormat): string | undefined {
  if (format === 'json') return JSON.stringify(value, null, 2);
  return format === 'yaml' ? stringify(value).trimEnd() : undefined;
}

/** Objects of one kind in the asked form. `single`: one was asked for by name, so no list around it. */
export function formatResult(
  resource: Resource,
  objects: readonly KubeObject[],
  options: { format: OutputFormat; single: boolean; now: number; namespaces: boolean },
): string {
  const { format, now, namespaces } = options;
  if (format === 'name')
    return objects.map(({ metadata }) => nameOfObject(resource, metadata.name)).join('\n');
  if (format === 'table' || format === 'wide') {
    return formatObjects(resource, objects, { now, wide: format === 'wide', namespaces });
  }
  return formatObjectData(objects, { format, single: options.single });
}

/** Objects of any kinds as data. */
export function formatObjectData(
  objects: readonly KubeObject[],
  { format, single }: { format: 'json' | 'yaml'; single: boolean },
): string {
  const shown = objects.map(withoutManagedFields);
  const value = single && shown.length === 1 ? shown[0] : listOf(shown);
  return formatData(value, format) ?? '';
}

function listOf(items: readonly object[]) {
  return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: '' }, items };
}

/** As kubectl shows objects: who owns which field is of no interest to people. */
export function withoutManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _hidden, ...metadata } = object.metadata as KubeObject['metadata'] & {
    managedFields?: unknown;
  };
  return { ...object, metadata };
}
