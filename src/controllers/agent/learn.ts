import type { AgentStatus } from '#api/agent.ts';
import type { Observed, ObservedInstance } from '#drivers/workload.ts';
import type { AgentFacts } from './facts.ts';
import { adoptEnds, type Ends, forSpec, keepInstances, type RunHistory, recordEnds } from './history.ts';

/**
 * Folds what was seen into the history. An end counts only against the spec that is wanted: an instance that ends
 * because another replaces it, or because it is to stop, has not failed.
 */
export function learnEnds(
  before: RunHistory,
  facts: Pick<AgentFacts, 'agent' | 'now'>,
  observed: Observed | undefined,
  wanted: string | undefined,
): RunHistory {
  if (observed === undefined || wanted === undefined) return before;
  const seen = observed.specHash ?? wanted;
  const isFirst = before.specHash === undefined;
  let history = forSpec(isFirst ? forSpec(before, seen) : before, wanted);
  for (const instance of observed.instances) {
    if ((instance.specHash ?? seen) !== wanted) continue;
    const ends = endsOf(instance, facts.now);
    if (ends.count === 0) continue;
    const inARow = isFirst ? countedBefore(instance, facts.agent.status) : undefined;
    history = inARow === undefined ? recordEnds(history, ends) : adoptEnds(history, ends, inARow);
  }
  return keepInstances(
    history,
    observed.instances.map(({ uid }) => uid),
  );
}

function endsOf({ uid, slot, restarts = 0, lastExit, exit }: ObservedInstance, now: number): Ends {
  return {
    instance: uid,
    slot,
    count: restarts + (exit === undefined ? 0 : 1),
    at: (exit ?? lastExit)?.at || now,
  };
}

/**
 * For the first look of a controller: of the ends of an instance that an earlier controller has counted, how many
 * are still held against it; undefined when none was counted. A sandbox's end is counted when the last status
 * knows nothing of it any more; a pod tells itself how often it ended, and is held to it while it is not Ready.
 */
function countedBefore(instance: ObservedInstance, status: AgentStatus | undefined): number | undefined {
  if (instance.restarts !== undefined) return instance.ready === true ? 0 : instance.restarts;
  const told = status?.endpoints;
  return told === undefined || told.some(({ uid }) => uid === instance.uid) ? undefined : 0;
}
