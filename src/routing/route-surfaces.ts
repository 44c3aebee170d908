import type { Route } from '#api/route.ts';
import { accessOf } from './access.ts';
import { hasName, type SortedNames } from './sorted-names.ts';
import type { Place, Surface } from './surface.ts';

export type { Place } from './surface.ts';

/**
 * Everything that one Route wants to serve: each of its surfaces at each of its hosts and paths, without agents, and
 * with the static root that it asks for.
 */
export function surfacesOf(route: Route): Surface[] {
  const { spec } = route;
  const namespace = route.metadata.namespace ?? '';
  const { name } = route.metadata;
  const access = accessOf(spec.auth, namespace, name);
  const base = { source: `${namespace}/${name}`, namespace, agents: [], ...(access && { access }) };
  return placesOf(route).flatMap(({ host, path }) => {
    const at = (below: string) => ({ ...base, place: { host, path: join(path, below) } });
    const surfaces: Surface[] = [];
    if (spec.mcp !== undefined) {
      const { mode, naming, tools, resources, prompts, optimize } = spec.mcp;
      const searchAbove = optimize?.mode === 'Search' ? optimize.above : undefined;
      const rules = { mode, naming, tools, resources, prompts, searchAbove, backends: spec.backends };
      surfaces.push({ kind: 'mcp', ...at(spec.mcp.path), ...rules });
    }
    if (spec.api !== undefined) surfaces.push({ kind: 'api', ...at(spec.api.path) });
    if (spec.blobs !== undefined) surfaces.push({ kind: 'blobs', ...at(spec.blobs.path) });
    if (spec.static !== undefined) {
      const { path: below, root } = spec.static;
      surfaces.push({ kind: 'static', ...at(below), root });
    }
    return surfaces;
  });
}

/** The same surfaces with these agents behind them; a root that is none of them is none. */
export function withAgents(surfaces: readonly Surface[], agents: SortedNames): Surface[] {
  return surfaces.map((surface) => {
    if (surface.kind !== 'static') return { ...surface, agents };
    const { root } = surface;
    return { ...surface, agents, root: root !== undefined && hasName(agents, root) ? root : undefined };
  });
}

function placesOf(route: Route): Place[] {
  const hosts = route.spec.hosts.length === 0 ? ['*'] : route.spec.hosts.map((host) => host.toLowerCase());
  return hosts.flatMap((host) => route.spec.paths.map((path) => ({ host, path })));
}

/** `/a` + `/b` → `/a/b`; "/" adds nothing. */
export function join(prefix: string, below: string): string {
  const joined = `${trim(prefix)}${trim(below)}`;
  return joined === '' ? '/' : joined;
}

function trim(path: string): string {
  return path.replace(/\/+$/, '');
}
