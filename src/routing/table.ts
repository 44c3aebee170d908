import type { Agent } from '#api/agent.ts';
import type { Route } from '#api/route.ts';
import { digestOf, sha256Hex } from '#kit/digest.ts';
import { oncePerObject } from '#kit/memo.ts';
import { defaultSurfaces } from './defaults.ts';
import { rostersOf } from './roster.ts';
import { partOf, type RoutePart, refusalOf } from './route-part.ts';
import { selectAgents } from './select.ts';
import { type Place, type Surface, surfaceKey } from './surface.ts';
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
 * Agents and Routes must not be changed afterwards: what follows from one of them alone is computed once for it.
 */
export function buildRoutingTable(input: TableInput): RoutingTable {
  const agents = input.agents.filter((agent) => agent.metadata.deletionTimestamp === undefined);
  const routes = input.routes.filter((route) => route.metadata.deletionTimestamp === undefined).sort(byAge);
  const rosters = rostersOf(agents);
  const taken = new Map<string, string>();
  const surfaces: Surface[] = [];
  const digests: string[] = [];
  const verdicts = new Map<string, RouteVerdict>();
  for (const route of routes) {
    const name = nameOf(route);
    const selection = selectAgents(route, rosters(route.metadata.namespace ?? ''));
    const part = partOf(route, selection.names);
    const accepted = refusalOf(route) ?? judge(route, part, input, taken);
    verdicts.set(name, { accepted, resolved: selection.verdict, agents: selection.names.length });
    if (!accepted.ok) continue;
    for (const key of part.keys) taken.set(key, name);
    surfaces.push(...part.surfaces);
    digests.push(part.digest);
  }
  const defaults = defaultSurfaces(agents, input.homeNamespace);
  const left = defaults.surfaces.filter((surface) => !taken.has(surfaceKey(surface)));
  surfaces.push(...left);
  digests.push(digestOfDefaults(left));
  const targets = new Map(agents.map((agent) => [nameOf(agent), target(agent)]));
  return { digest: rollUp(digests), surfaces, targets, verdicts, notes: defaults.notes };
}

const target = oncePerObject(targetOf);

/** They share lists of all agents' names, which would make up most of the work. */
function digestOfDefaults(surfaces: readonly Surface[]): string {
  const lists = new Map<readonly string[], string>();
  const listed = (names: readonly string[]) => {
    const digest = lists.get(names) ?? sha256Hex(names.join('\n'));
    lists.set(names, digest);
    return digest;
  };
  return digestOf(
    surfaces.map((surface) => ({ ...surface, agents: listed(surface.agents) })),
    32,
  );
}

function rollUp(digests: readonly string[]): string {
  return sha256Hex(digests.join(' ')).slice(0, 16);
}

function judge(
  route: Route,
  wanted: RoutePart,
  input: TableInput,
  taken: ReadonlyMap<string, string>,
): Verdict {
  const namespace = route.metadata.namespace ?? '';
  for (const { place } of wanted.surfaces) {
    if (!mayClaim(namespace, place, input)) {
      const message = `Namespace ${namespace} may not claim host "${place.host}". Choose another in spec.hosts, or ask the administrator.`;
      return { ok: false, reason: 'HostNotAllowed', message };
    }
  }
  for (const [index, { place }] of wanted.surfaces.entries()) {
    const owner = taken.get(wanted.keys[index] ?? '');
    if (owner === undefined) continue;
    const message = `Route ${owner} is older and has ${place.path} on host "${place.host}". Choose another path or host.`;
    return { ok: false, reason: 'Conflict', message };
  }
  return served;
}

const served: Verdict = { ok: true, reason: 'Accepted', message: 'The Route is served.' };

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

function byAge(left: Route, right: Route): number {
  return ageKey(left) < ageKey(right) ? -1 : 1;
}

const ageKey = oncePerObject((route: Route) => `${route.metadata.creationTimestamp ?? ''} ${nameOf(route)}`);

export function nameOf(object: { metadata: { name: string; namespace?: string } }): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}
