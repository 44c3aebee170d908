import type { Agent } from '#api/agent.ts';
import type { Route } from '#api/route.ts';
import { unimplementedFields } from '#api/unimplemented.ts';
import { digestOf } from '#kit/digest.ts';
import { defaultSurfaces } from './defaults.ts';
import { type Place, surfacesOf } from './route-surfaces.ts';
import { selectAgents } from './select.ts';
import type { Surface } from './surface.ts';
import { type Target, targetOf } from './target.ts';
import type { Verdict } from './verdict.ts';

export interface TableInput {
  readonly agents: readonly Agent[];
  readonly routes: readonly Route[];
  /** Namespace whose agents appear without any Route; undefined: none. On a laptop: the workspace's. */
  readonly homeNamespace: string | undefined;
  /** Hosts that a namespace may claim, exact or `*.name`, `*` for any. The home namespace may claim every host. */
  readonly hostClaims: Readonly<Record<string, readonly string[]>>;
}

export interface RoutingTable {
  /** Digest of what is served where; does NOT cover endpoints, which come and go. Controller and routers compare it. */
  readonly digest: string;
  readonly surfaces: readonly Surface[];
  /** By `<namespace>/<name>`. */
  readonly targets: ReadonlyMap<string, Target>;
  /** By `<namespace>/<name>` of every Route. */
  readonly verdicts: ReadonlyMap<string, RouteVerdict>;
  /** What an operator should know about the defaults: agents beyond the limit, two static roots. */
  readonly notes: readonly string[];
}

/** What became of a Route; the controller writes it as conditions. */
export interface RouteVerdict {
  readonly accepted: Verdict;
  readonly resolved: Verdict;
  /** How many agents it selects. */
  readonly agents: number;
}

/**
 * What a router serves, from all Agents and Routes. Pure and independent of their order: the oldest Route
 * wins a place, by creation time, then namespace and name; a Route wins over the defaults of the home namespace.
 */
export function buildRoutingTable(input: TableInput): RoutingTable {
  const agents = input.agents.filter((agent) => agent.metadata.deletionTimestamp === undefined);
  const routes = input.routes.filter((route) => route.metadata.deletionTimestamp === undefined).sort(byAge);
  const taken = new Map<string, string>();
  const surfaces: Surface[] = [];
  const verdicts = new Map<string, RouteVerdict>();
  for (const route of routes) {
    const selection = selectAgents(route, agents);
    const wanted = surfacesOf(route, selection.names);
    const accepted = refuse(route) ?? judge(route, wanted, input, taken);
    verdicts.set(nameOf(route), { accepted, resolved: selection.verdict, agents: selection.names.length });
    if (!accepted.ok) continue;
    for (const surface of wanted) taken.set(placeKey(surface), nameOf(route));
    surfaces.push(...wanted);
  }
  const defaults = defaultSurfaces(agents, input.homeNamespace);
  surfaces.push(...defaults.surfaces.filter((surface) => !taken.has(placeKey(surface))));
  const targets = new Map(agents.map((agent) => [nameOf(agent), targetOf(agent)]));
  return { digest: digestOf(surfaces), surfaces, targets, verdicts, notes: defaults.notes };
}

/** A Route with a field that nothing carries out is not served at all: without it it would say something else. */
function refuse(route: Route): Verdict | undefined {
  const fields = unimplementedFields('Route', route.spec);
  if (fields.length === 0) return undefined;
  const message = fields.map((field) => `${field.path} ${field.message}.`).join(' ');
  return { ok: false, reason: 'NotImplemented', message };
}

function judge(
  route: Route,
  wanted: readonly Surface[],
  input: TableInput,
  taken: ReadonlyMap<string, string>,
): Verdict {
  const namespace = route.metadata.namespace ?? '';
  for (const { place } of wanted) {
    if (!mayClaim(namespace, place, input)) {
      const message = `Namespace ${namespace} may not claim host "${place.host}". Choose another in spec.hosts, or ask the administrator.`;
      return { ok: false, reason: 'HostNotAllowed', message };
    }
  }
  for (const surface of wanted) {
    const owner = taken.get(placeKey(surface));
    if (owner === undefined) continue;
    const message = `Route ${owner} is older and has ${surface.place.path} on host "${surface.place.host}". Choose another path or host.`;
    return { ok: false, reason: 'Conflict', message };
  }
  return { ok: true, reason: 'Accepted', message: 'The Route is served.' };
}

function mayClaim(namespace: string, place: Place, input: TableInput): boolean {
  if (namespace === input.homeNamespace) return true;
  const claims = input.hostClaims[namespace] ?? [];
  return claims.some((claim) => claim === '*' || claim === place.host || coversHost(claim, place.host));
}

/** `*.example.org` covers `a.example.org` and `*.a.example.org`. */
function coversHost(claim: string, host: string): boolean {
  if (!claim.startsWith('*.')) return false;
  const bare = host.startsWith('*.') ? host.slice(2) : host;
  return bare.endsWith(claim.slice(1));
}

/** Surfaces of different kinds share a path as long as they answer different requests; see `resolve.ts`. */
function placeKey(surface: Surface): string {
  return `${surface.kind} ${surface.place.host} ${surface.place.path}`;
}

function byAge(left: Route, right: Route): number {
  const a = left.metadata.creationTimestamp ?? '';
  const b = right.metadata.creationTimestamp ?? '';
  if (a !== b) return a < b ? -1 : 1;
  return nameOf(left) < nameOf(right) ? -1 : 1;
}

export function nameOf(object: { metadata: { name: string; namespace?: string } }): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}
