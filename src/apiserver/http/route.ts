import { ApiError } from '../api-error.ts';
import type { Kind } from '../kinds/kind.ts';
import type { KindRegistry } from '../kinds/registry.ts';
import type { Target } from '../verbs/target.ts';

/**
 * The object or collection that a path names, or undefined when the path is not one of resources:
 * `/api/v1/…` and `/apis/<group>/<version>/…`, then `[namespaces/<ns>/]<plural>[/<name>[/<subresource>]]`.
 * Throws 404 in the API server's words when nothing is served there.
 */
export function resolveTarget(kinds: KindRegistry, segments: readonly string[]): Target | undefined {
  const place = groupOf(segments);
  if (place === undefined || place.rest.length === 0) return undefined;
  const { group, version, rest } = place;
  const scoped = rest[0] === 'namespaces' && rest.length > 2 && !isNamespaceSubresource(rest);
  const [plural = '', name, subresource, ...extra] = scoped ? rest.slice(2) : rest;
  const kind = kinds.find(group, version, plural);
  if (kind === undefined || extra.length > 0 || (scoped && !kind.namespaced)) throw noSuchPath();
  if (kind.namespaced && !scoped && name !== undefined) throw noSuchPath();
  return {
    kind,
    ...(scoped ? { namespace: rest[1] ?? '' } : {}),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource: checkSubresource(kind, subresource) }),
  };
}

function groupOf(segments: readonly string[]) {
  const [root, ...rest] = segments;
  if (root === 'api' && rest[0] !== undefined) return { group: '', version: rest[0], rest: rest.slice(1) };
  if (root === 'apis' && rest[1] !== undefined)
    return { group: rest[0] ?? '', version: rest[1], rest: rest.slice(2) };
  return undefined;
}

/** `/namespaces/<name>/status` is the namespace's, not a kind called status. */
function isNamespaceSubresource(rest: readonly string[]): boolean {
  return rest.length === 3 && (rest[2] === 'status' || rest[2] === 'finalize');
}

function checkSubresource(kind: Kind, name: string): 'status' | 'scale' | 'finalize' {
  if (name === 'status' && kind.status) return name;
  if (name === 'scale' && kind.scale !== undefined) return name;
  if (name === 'finalize' && kind.kind === 'Namespace') return name;
  throw noSuchPath();
}

/** 404 for a path, not for an object. */
export function noSuchPath(): ApiError {
  return new ApiError('NotFound', 'the server could not find the requested resource', {});
}
