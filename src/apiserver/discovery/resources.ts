import { apiVersionOf, type Kind } from '../kinds/kind.ts';

type Json = Record<string, unknown>;

/** In the orders that the API server lists them in. */
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const customVerbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const subresourceVerbs = ['get', 'patch', 'update'];

/** The verbs of a kind's main resource. */
export function verbsOf(kind: Kind): string[] {
  if (kind.custom) return customVerbs;
  return kind.kind === 'Namespace' ? verbs.filter((verb) => verb !== 'deletecollection') : verbs;
}

/** A subresource: its name, what it speaks, and its verbs. */
export interface Subresource {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
}

export function subresourcesOf(kind: Kind): Subresource[] {
  const own = { group: kind.group, version: kind.version, kind: kind.kind };
  const list: Subresource[] = [];
  if (kind.kind === 'Namespace') list.push({ name: 'finalize', ...own, verbs: ['update'] });
  if (kind.status) list.push({ name: 'status', ...own, verbs: subresourceVerbs });
  if (kind.scale !== undefined)
    list.push({ name: 'scale', group: 'autoscaling', version: 'v1', kind: 'Scale', verbs: subresourceVerbs });
  return list;
}

/** `/api/v1` or `/apis/<group>/<version>`: a metav1.APIResourceList. */
export function resourceList(kinds: readonly Kind[]): Json {
  const [first] = kinds;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: first === undefined ? '' : apiVersionOf(first),
    resources: kinds.flatMap((kind) => [
      mainResource(kind),
      ...subresourcesOf(kind).map((one) => subresource(kind, one)),
    ]),
  };
}

function mainResource(kind: Kind): Json {
  return {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
  };
}

function subresource(kind: Kind, one: Subresource): Json {
  const foreign = one.group !== kind.group;
  return {
    name: `${kind.plural}/${one.name}`,
    singularName: '',
    namespaced: kind.namespaced,
    ...(foreign ? { group: one.group, version: one.version } : {}),
    kind: one.kind,
    verbs: one.verbs,
  };
}
