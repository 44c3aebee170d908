import type { RouteSpec } from '#api/route.ts';
import type { Access } from './access.ts';
import type { SurfaceLimits } from './limits.ts';
import type { SortedNames } from './sorted-names.ts';

/** Where something appears: a host pattern (exact, `*.` and a name, or `*` for any) and a path. */
export interface Place {
  readonly host: string;
  /** Begins with "/", does not end with one except for "/" itself. */
  readonly path: string;
}

/** Which items appear, and their names; for resources, URIs and templates are the names. */
export type ItemFilter = NonNullable<NonNullable<RouteSpec['mcp']>['resources']>;
export type Naming = 'Conflict' | 'Always' | 'Never';

interface SurfaceBase {
  /** `defaults`, or `<namespace>/<name>` of the Route. */
  readonly source: string;
  readonly namespace: string;
  readonly place: Place;
  /** Names of the agents behind it. */
  readonly agents: SortedNames;
  /** Who may come in, as its Route says; what its agents ask for holds as well. */
  readonly access?: Access;
}

export interface McpSurface extends SurfaceBase {
  readonly kind: 'mcp';
  readonly mode: 'Aggregate' | 'Single';
  readonly naming: Naming;
  readonly tools: ItemFilter | undefined;
  readonly resources?: ItemFilter | undefined;
  readonly prompts?: ItemFilter | undefined;
  /** Absent: the router's own deadline, and Partial. */
  readonly backends?: Backends | undefined;
  /** With more tools than this, clients see find_tool and call_tool instead. Absent: always every tool. */
  readonly searchAbove?: number | undefined;
  /** What one caller may use of it; never in a table. Absent: everything. */
  readonly limits?: SurfaceLimits;
}

/** How long an answer of several agents waits for one, and whether it is an answer without it. */
export type Backends = NonNullable<RouteSpec['backends']>;

/** `<path>/<agent>/<rest>` → the agent's own HTTP server. */
export interface ApiSurface extends SurfaceBase {
  readonly kind: 'api';
}

/** `<path>/<agent>/<file>`, and files of `root` at the path itself. */
export interface StaticSurface extends SurfaceBase {
  readonly kind: 'static';
  readonly root: string | undefined;
}

/** `<path>/<agent>/mcp` and `<path>/<agent>/task`: the per-agent endpoints of Ploinky. */
export interface AgentsSurface extends SurfaceBase {
  readonly kind: 'agents';
}

/** `<path>/<agent>` and `<path>/<agent>/<id>`: files in and out of the agent's workspace. */
export interface BlobsSurface extends SurfaceBase {
  readonly kind: 'blobs';
}

export type Surface = McpSurface | ApiSurface | StaticSurface | AgentsSurface | BlobsSurface;

/** Surfaces of different kinds share a path as long as they answer different requests; see `resolve.ts`. */
export function surfaceKey({ kind, place }: Surface): string {
  return `${kind} ${place.host} ${place.path}`;
}
