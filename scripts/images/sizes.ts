import { styleText } from 'node:util';
import { bytesOf, type Image, type Layer, readArchive } from './archive.ts';
import type { ImageName } from './recipes.ts';

/** At most so much is added to the Node base by the controller image, and is the agent-server, in MiB. */
export const limits = { controllerAdded: 30, agentServer: 3 };

export interface Sizes {
  readonly name: ImageName;
  /** MiB of files, uncompressed. */
  readonly total: number;
  /** MiB of files in layers that are not the base's; undefined: the base is not in the builder's storage. */
  readonly added: number | undefined;
  /** MiB of the agent-server's bundle, in images that have it. */
  readonly agentServer: number | undefined;
}

/** Sizes of an image, `baseLayers` being the digests of its base's uncompressed layers. */
export async function measureImage(
  name: ImageName,
  archive: string,
  baseLayers: readonly string[] | undefined,
): Promise<Sizes> {
  const image = await readArchive(archive);
  const own = image.layers.filter(({ diffId }) => baseLayers?.includes(diffId) !== true);
  return {
    name,
    total: toMiB(bytesOf(image.layers)),
    added: baseLayers === undefined ? undefined : toMiB(bytesOf(own)),
    agentServer: sizeOfFile(image, 'Agent/agent-server.mjs'),
  };
}

/** A table, and a `goal` line for each limit. */
export function describeSizes(all: readonly Sizes[]): string[] {
  const cell = (value: number | undefined) => (value?.toFixed(1) ?? '–').padStart(10);
  const rows = all.map(({ name, total, added }) => `${name.padEnd(12)}${cell(total)}${cell(added)}`);
  const controller = all.find(({ name }) => name === 'controller')?.added;
  const agentServer = all.find(({ name }) => name === 'agent')?.agentServer;
  return [
    `${'MiB'.padEnd(12)}${'all'.padStart(10)}${'added'.padStart(10)}`,
    ...rows,
    ...goal('image.controller.added', controller, limits.controllerAdded),
    ...goal('image.agent-server', agentServer, limits.agentServer),
  ];
}

function goal(name: string, value: number | undefined, limit: number): string[] {
  if (value === undefined) return [];
  const isHit = value <= limit;
  const line = `goal ${name} ${value.toFixed(2)} <= ${limit} ${isHit ? 'hit' : 'missed'}`;
  return [styleText(isHit ? 'green' : 'red', line)];
}

function sizeOfFile({ layers }: Image, path: string): number | undefined {
  const isIt = (file: Layer['files'][number]) => file.path.replace(/^\.?\//, '') === path;
  const found = layers.flatMap(({ files }) => files).findLast(isIt);
  return found === undefined ? undefined : toMiB(found.bytes);
}

function toMiB(bytes: number): number {
  return bytes / 1024 / 1024;
}
