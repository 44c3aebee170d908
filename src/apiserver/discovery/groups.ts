import type { Kind } from '../kinds/kind.ts';
import { groupsOf } from './aggregated.ts';

type Json = Record<string, unknown>;

/** `/apis`: a metav1.APIGroupList. */
export function groupList(kinds: readonly Kind[]): Json {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: namedGroups(kinds) };
}

/** `/apis/<group>`: a metav1.APIGroup, or undefined when the group is not served. */
export function groupOf(kinds: readonly Kind[], name: string): Json | undefined {
  const found = namedGroups(kinds).find((group) => group['name'] === name);
  return found === undefined ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...found };
}

function namedGroups(kinds: readonly Kind[]): Json[] {
  return [...groupsOf(kinds.filter((kind) => kind.group !== ''))].map(([name, versions]) => {
    const list = [...versions.keys()].map((version) => ({ groupVersion: `${name}/${version}`, version }));
    return { name, versions: list, preferredVersion: list[0] };
  });
}

/** `/api`: a metav1.APIVersions. */
export const coreVersions: Json = {
  kind: 'APIVersions',
  versions: ['v1'],
  serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }],
};
