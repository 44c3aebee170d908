import type { Agent } from '#api/agent.ts';
import type { Route } from '#api/route.ts';
import type { Access } from './access.ts';
import type { HostRules } from './hosts.ts';
import { createTableKeeper } from './keeper.ts';
import type { Surface } from './surface.ts';
import type { Target } from './target.ts';
import type { Verdict } from './verdict.ts';

export interface TableInput extends HostRules {
  readonly agents: readonly Agent[];
  readonly routes: readonly Route[];
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
  /** What the Agents that not everybody may reach ask for, by `<namespace>/<name>`; the same object until it changes. */
  readonly guarded: ReadonlyMap<string, Access>;
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
  const keeper = createTableKeeper(input);
  for (const agent of input.agents) keeper.putAgent(agent);
  for (const route of input.routes) keeper.putRoute(route);
  return keeper.table();
}
