import { type ConditionUpdate, findCondition, setCondition } from '#api/conditions.ts';
import type { Condition } from '#api/meta.ts';
import type { RouteReason } from '#api/reasons.ts';
import type { Route, RouteStatus } from '#api/route.ts';
import { keyTextOf } from '#kube/key.ts';
import type { RouteConflicts } from '#routing/name-conflicts.ts';
import type { RouteVerdict } from '#routing/table.ts';
import type { Verdict } from '#routing/verdict.ts';

/** What the routers say they serve. */
export interface RouterFacts {
  /** Digest of the table as the controller computes it now. */
  readonly wanted: string;
  /** Digest that each live router published, by its Lease's name. */
  readonly published: ReadonlyMap<string, string>;
  /** Names of those that have not followed although they had the time. */
  readonly late: ReadonlySet<string>;
  /** Names that several agents have, by Route. Default: none. */
  readonly conflicts?: RouteConflicts;
}

/** True while a router is behind that has not had its time yet: look again, nobody will tell that it ran out. */
export function isWaiting({ wanted, published, late }: RouterFacts): boolean {
  return [...published].some(([name, digest]) => digest !== wanted && !late.has(name));
}

/** Pure. The whole status of a Route, in the vocabulary of the Gateway API: Accepted, ResolvedRefs, Programmed. */
export function routeStatus(
  route: Route,
  verdict: RouteVerdict,
  routers: RouterFacts,
  now: Date,
): RouteStatus {
  const { generation } = route.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const updates: ConditionUpdate[] = [
    { type: 'Accepted', ...finding(withLimits(route, verdict.accepted)), ...observed },
    { type: 'ResolvedRefs', ...finding(verdict.resolved), ...observed },
    { type: 'Programmed', ...programmed(route, verdict, routers), ...observed },
  ];
  let conditions: readonly Condition[] = route.status?.conditions ?? [];
  for (const update of updates) conditions = setCondition(conditions, update, now);
  const clashes = routers.conflicts
    ?.get(keyTextOf(route))
    ?.map(({ agents, ...rest }) => ({ ...rest, agents: [...agents] }));
  return {
    ...observed,
    conditions: [...conditions],
    agents: verdict.agents,
    ...(clashes !== undefined && { conflicts: clashes }),
  };
}

/** Who closes a Route believes easily that its agents are closed. */
function withLimits({ spec: { auth } }: Route, verdict: Verdict): Verdict {
  if (!verdict.ok || (auth.mode === 'none' && auth.issuers === undefined)) return verdict;
  const limits = 'Its auth counts at its own addresses alone; at others each agent’s own auth does.';
  return { ...verdict, message: `${verdict.message} ${limits}` };
}

type Finding = Pick<Condition, 'status' | 'reason' | 'message'>;

function finding({ ok, reason, message }: Verdict): Finding {
  return { status: ok ? 'True' : 'False', reason, message };
}

/**
 * A Route that is served stays Programmed while the routers follow a change of something else: every Agent that
 * comes or goes would cost each Route two writes.
 */
function programmed(route: Route, verdict: RouteVerdict, routers: RouterFacts): Finding {
  const { wanted, published, late } = routers;
  const say = (status: 'True' | 'False', reason: RouteReason, message: string) => ({
    status,
    reason,
    message,
  });
  if (!verdict.accepted.ok) return say('False', 'NotAccepted', 'The Route is not served.');
  if (published.size === 0) return say('False', 'Pending', 'No router runs.');
  const behind = [...published].filter(([, digest]) => digest !== wanted).map(([name]) => name);
  if (behind.length === 0) return say('True', 'Programmed', 'Every router serves the Route as it is now.');
  const before = findCondition(route.status?.conditions, 'Programmed');
  if (before && isServed(route) && behind.every((name) => !late.has(name))) {
    return say('True', 'Programmed', before.message);
  }
  return say('False', 'Pending', `Not taken up yet by ${behind.sort().join(', ')}.`);
}

/** True when its status says that every router served it as it is now. */
export function isServed({ status, metadata }: Route): boolean {
  const programmed = findCondition(status?.conditions, 'Programmed');
  return programmed?.status === 'True' && programmed.observedGeneration === metadata.generation;
}
