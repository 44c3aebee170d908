import type { Kind } from './kind.ts';

/** Every kind the server serves, found by where it is served. */
export interface KindRegistry {
  readonly all: readonly Kind[];
  find(group: string, version: string, plural: string): Kind | undefined;
  /** Any version of a group's kind by its name, as an owner reference names it. */
  byKind(apiVersion: string, kind: string): Kind | undefined;
  /** True when the group and version are served at all. */
  serves(group: string, version: string): boolean;
}

export function createKindRegistry(all: readonly Kind[]): KindRegistry {
  const byPath = new Map(all.map((kind) => [`${kind.group}/${kind.version}/${kind.plural}`, kind]));
  return {
    all,
    find: (group, version, plural) => byPath.get(`${group}/${version}/${plural}`),
    byKind(apiVersion, name) {
      const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
      return all.find((kind) => kind.group === group && kind.kind === name);
    },
    serves: (group, version) => all.some((kind) => kind.group === group && kind.version === version),
  };
}
