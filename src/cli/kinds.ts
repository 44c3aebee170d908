import type { Resource } from '#api/meta.ts';
import { resources } from '#api/resources.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

const shortNames: Readonly<Record<string, string>> = {
  ag: 'Agent',
  rt: 'Route',
  tk: 'Task',
  cm: 'ConfigMap',
  ev: 'Event',
  ns: 'Namespace',
};

/** The kind that a person wrote: `agent`, `Agents`, `ag`, `agents.ploinky.dev`. Throws `usage`. */
export function findKind(word: string): Resource {
  const name = word.toLowerCase();
  const short = shortNames[name]?.toLowerCase();
  const found = resources.find((resource) => namesOf(resource).includes(short ?? name));
  if (found !== undefined) return found;
  const known = resources.map(({ plural }) => plural).join(', ');
  throw new CliError(exitCodes.usage, `there is no kind "${word}"`, `Known kinds: ${known}.`);
}

function namesOf({ kind, plural, group }: Resource): string[] {
  const full = group === '' ? [] : [`${plural}.${group}`];
  return [kind.toLowerCase(), plural, ...full];
}

/** The kind of an object in a file. Throws `refused` naming what is wrong. */
export function kindOfObject(apiVersion: unknown, kind: unknown, where: string): Resource {
  const found = resources.find((resource) => resource.kind === kind && versionOf(resource) === apiVersion);
  if (found !== undefined) return found;
  const known = resources.map((resource) => `${versionOf(resource)} ${resource.kind}`).join(', ');
  throw new CliError(
    exitCodes.refused,
    `${where}: apiVersion "${String(apiVersion)}", kind "${String(kind)}" is unknown`,
    `Known: ${known}.`,
  );
}

function versionOf({ group, version }: Resource): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `agent.ploinky.dev/hello`, as kubectl names an object. */
export function nameOfObject({ kind, group }: Resource, name: string): string {
  return group === '' ? `${kind.toLowerCase()}/${name}` : `${kind.toLowerCase()}.${group}/${name}`;
}
