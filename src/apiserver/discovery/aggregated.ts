import type { Kind } from '../kinds/kind.ts';
import { subresourcesOf, verbsOf } from './resources.ts';

type Json = Record<string, unknown>;

/** Groups in order, each with its versions and their kinds. */
export function groupsOf(kinds: readonly Kind[]): Map<string, Map<string, Kind[]>> {
  const groups = new Map<string, Map<string, Kind[]>>();
  for (const kind of kinds) {
    const versions = groups.get(kind.group) ?? new Map<string, Kind[]>();
    groups.set(kind.group, versions);
    const list = versions.get(kind.version) ?? [];
    versions.set(kind.version, list);
    list.push(kind);
  }
  return groups;
}

/** An APIGroupDiscoveryList (apidiscovery.k8s.io) of the core group or of all others. */
export function aggregatedDiscovery(kinds: readonly Kind[], core: boolean, version: string): Json {
  const items = [...groupsOf(kinds.filter((kind) => (kind.group === '') === core))].map(
    ([group, versions]) => ({
      metadata: group === '' ? {} : { name: group },
      versions: [...versions].map(([name, list]) => ({
        version: name,
        resources: list.map(resourceOf),
        freshness: 'Current',
      })),
    }),
  );
  return { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
}

function resourceOf(kind: Kind): Json {
  const subresources = subresourcesOf(kind).map((one) => ({
    subresource: one.name,
    responseKind: { group: one.group, version: one.version, kind: one.kind },
    verbs: one.verbs,
  }));
  return {
    resource: kind.plural,
    responseKind: { group: kind.group, version: kind.version, kind: kind.kind },
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}
