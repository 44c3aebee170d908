import { oncePerObject } from '#kit/memo.ts';
import { agentSurfaceOf } from './agent-surface.ts';
import { type LoginPageResolution, loginPagesPath, resolveLoginPage } from './login-pages.ts';
import { hasName } from './sorted-names.ts';
import type { ApiSurface, BlobsSurface, McpSurface, StaticSurface, Surface } from './surface.ts';
import type { RoutingTable } from './table.ts';
import type { Target } from './target.ts';

/** What a request asks for, by its host and path alone. */
export type Resolution =
  | { readonly kind: 'mcp'; readonly surface: McpSurface }
  /** One agent's MCP, names as they are. */
  | { readonly kind: 'agent-mcp'; readonly target: Target; readonly surface?: McpSurface }
  | { readonly kind: 'agent-task'; readonly target: Target }
  /** Below a per-agent path, but neither `mcp` nor `task`. */
  | { readonly kind: 'agent-other'; readonly surface: Surface }
  /** Told to those alone whom the surface lets in. */
  | { readonly kind: 'unknown-agent'; readonly name: string; readonly surface: Surface }
  /** `rest` begins with "/". */
  | { readonly kind: 'api'; readonly surface: ApiSurface; readonly target: Target; readonly rest: string }
  /** `id` is empty for all of them; else as sent. */
  | { readonly kind: 'blobs'; readonly surface: BlobsSurface; readonly target: Target; readonly id: string }
  | {
      readonly kind: 'static';
      readonly surface: StaticSurface;
      readonly target: Target;
      readonly rest: string;
    }
  | LoginPageResolution
  | { readonly kind: 'none' };

/** `host` is in lower case without port; `path` as sent, without the query. */
export type Resolver = (host: string, path: string) => Resolution;

/**
 * Compiles a table; those with the same surfaces share the work. Exact host before wildcard before any; then the longer path; then what answers only one
 * path. A host that a Route of another namespace claims shows none of the home namespace's defaults.
 * Costs one map lookup a path segment and host pattern, however many Routes there are.
 */
export function createResolver(table: RoutingTable): Resolver {
  const hosts = hostsOf(table.surfaces);
  return (host, path) => {
    if (path.startsWith(loginPagesPath)) return resolveLoginPage(table, path) ?? { kind: 'none' };
    for (const pattern of patternsOf(host)) {
      const paths = hosts.get(pattern);
      if (paths === undefined) continue;
      const resolution = resolveAt(table, paths, path);
      if (resolution !== undefined) return resolution;
      if (paths.exclusive) break;
    }
    return { kind: 'none' };
  };
}

/** What of the table is to be found at a host, in the table's order; what a more specific host hides is left out. */
export function surfacesAt(table: RoutingTable, host: string): Surface[] {
  const hosts = hostsOf(table.surfaces);
  const found = new Map<string, Surface>();
  for (const pattern of patternsOf(host)) {
    const paths = hosts.get(pattern);
    for (const surface of [...(paths?.surfaces.values() ?? [])].flat()) {
      const key = `${surface.kind} ${surface.place.path}`;
      if (!found.has(key)) found.set(key, surface);
    }
    if (paths?.exclusive) break;
  }
  const visible = new Set(found.values());
  return table.surfaces.filter((surface) => visible.has(surface));
}

/** Whether a Route names this host, or a wildcard above it. */
export function isClaimed(table: RoutingTable, host: string): boolean {
  const hosts = hostsOf(table.surfaces);
  for (const pattern of patternsOf(host)) if (pattern !== '*' && hosts.has(pattern)) return true;
  return false;
}

interface HostPaths {
  readonly surfaces: Map<string, Surface[]>;
  /** Characters of the longest path that has surfaces. */
  longest: number;
  /** Nothing of less specific hosts appears here. */
  exclusive: boolean;
}

const hostsOf = oncePerObject(groupByHost);

function groupByHost(surfaces: readonly Surface[]): Map<string, HostPaths> {
  const home = surfaces.find((surface) => surface.source === 'defaults')?.namespace;
  const hosts = new Map<string, HostPaths>();
  for (const surface of surfaces) {
    const { host, path } = surface.place;
    const paths = hosts.get(host) ?? { surfaces: new Map<string, Surface[]>(), longest: 0, exclusive: false };
    hosts.set(host, paths);
    paths.longest = Math.max(paths.longest, path.length);
    const here = paths.surfaces.get(path);
    if (here === undefined) paths.surfaces.set(path, [surface]);
    else here.push(surface);
    here?.sort((left, right) => kindRank[left.kind] - kindRank[right.kind]);
    paths.exclusive ||= host !== '*' && surface.namespace !== home;
  }
  return hosts;
}

const kindRank: Record<Surface['kind'], number> = { mcp: 0, agents: 1, api: 2, blobs: 3, static: 4 };

/** `a.b.c` → `a.b.c`, `*.b.c`, `*.c`, `*`. */
function* patternsOf(host: string): Generator<string> {
  yield host;
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) yield `*${host.slice(dot)}`;
  yield '*';
}

/** Tries every prefix of the path that ends at a segment and may have surfaces, the longest first. */
function resolveAt(table: RoutingTable, paths: HostPaths, path: string): Resolution | undefined {
  const { longest } = paths;
  const first = path.length <= longest ? path.length : path.lastIndexOf('/', longest);
  for (let end = first; ; end = path.lastIndexOf('/', end - 1)) {
    const prefix = end <= 0 ? '/' : path.slice(0, end);
    for (const surface of paths.surfaces.get(prefix) ?? []) {
      const rest = prefix === '/' ? path : path.slice(end);
      const resolution = resolveIn(table, surface, rest === '' ? '/' : rest);
      if (resolution !== undefined) return resolution;
    }
    if (end <= 0) return undefined;
  }
}

/** Undefined: this surface has nothing there, a less specific one may. */
function resolveIn(table: RoutingTable, surface: Surface, rest: string): Resolution | undefined {
  switch (surface.kind) {
    case 'mcp':
      return rest === '/' ? resolveMcp(table, surface) : undefined;
    case 'agents':
      return resolveAgent(table, surface, rest);
    case 'api':
      return resolveApi(table, surface, rest);
    case 'blobs':
      return resolveBlobs(table, surface, rest);
    case 'static':
      return resolveStatic(table, surface, rest);
  }
}

function resolveMcp(table: RoutingTable, surface: McpSurface): Resolution {
  if (surface.mode === 'Aggregate') return { kind: 'mcp', surface };
  const name = surface.agents[0] ?? '';
  const target = table.targets.get(`${surface.namespace}/${name}`);
  if (target === undefined) return { kind: 'unknown-agent', name, surface };
  const passes = isAsItIs(surface) && !hasRules(surface, target);
  return passes ? { kind: 'agent-mcp', target, surface } : { kind: 'mcp', surface };
}

/** True when the surface's Route changes nothing of what its one agent answers. */
function isAsItIs({ tools, resources, prompts, searchAbove, backends }: McpSurface): boolean {
  const filters = [tools, resources, prompts];
  const isChanged = searchAbove !== undefined || backends?.failureMode === 'Fail';
  return !isChanged && filters.every((filter) => filter === undefined);
}

/** Where not everybody may call everything, lists and calls are looked into. */
function hasRules(surface: Surface, target: Target): boolean {
  return target.access?.allow !== undefined || surface.access?.allow !== undefined;
}

function resolveAgent(table: RoutingTable, surface: Surface, rest: string): Resolution | undefined {
  const [name, below] = splitFirst(rest);
  if (name === '') return undefined;
  const target = targetIn(table, surface, name);
  if (below === '/mcp') {
    if (target === undefined) return { kind: 'unknown-agent', name, surface };
    if (hasRules(surface, target)) return { kind: 'mcp', surface: agentSurfaceOf(surface, name) };
    return { kind: 'agent-mcp', target };
  }
  if (below === '/task')
    return target === undefined ? { kind: 'unknown-agent', name, surface } : { kind: 'agent-task', target };
  return { kind: 'agent-other', surface };
}

function resolveApi(table: RoutingTable, surface: ApiSurface, rest: string): Resolution | undefined {
  const [name, below] = splitFirst(rest);
  if (name === '') return undefined;
  const target = targetIn(table, surface, name);
  if (target === undefined) return { kind: 'unknown-agent', name, surface };
  return { kind: 'api', surface, target, rest: below === '' ? '/' : below };
}

function resolveBlobs(table: RoutingTable, surface: BlobsSurface, rest: string): Resolution | undefined {
  const [name, below] = splitFirst(rest);
  if (name === '') return undefined;
  const target = targetIn(table, surface, name);
  if (target === undefined) return { kind: 'unknown-agent', name, surface };
  return { kind: 'blobs', surface, target, id: below.slice(1) };
}

/** A folder named as an agent hides nothing of the static root: agents' own paths win, as in Ploinky. */
function resolveStatic(table: RoutingTable, surface: StaticSurface, rest: string): Resolution | undefined {
  const [name, below] = splitFirst(rest);
  const target = targetIn(table, surface, name);
  if (target !== undefined) return { kind: 'static', surface, target, rest: below === '' ? '/' : below };
  const root = surface.root === undefined ? undefined : targetIn(table, surface, surface.root);
  return root === undefined ? undefined : { kind: 'static', surface, target: root, rest };
}

function targetIn(table: RoutingTable, surface: Surface, name: string): Target | undefined {
  if (!hasName(surface.agents, name)) return undefined;
  return table.targets.get(`${surface.namespace}/${name}`);
}

/** `/a/b/c` → `a` and `/b/c`; `/a` → `a` and ``. */
function splitFirst(rest: string): [string, string] {
  const slash = rest.indexOf('/', 1);
  return slash < 0 ? [rest.slice(1), ''] : [rest.slice(1, slash), rest.slice(slash)];
}
