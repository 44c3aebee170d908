import type { ContainerStatus, Pod, TerminatedState } from '#api/cluster-kinds.ts';
import type { Exit } from '../../workload.ts';

/** What the kubelet writes for a container of which it knows nothing any more when the pod ends. */
const unknownEnd = 'ContainerStatusUnknown';

/**
 * How a pod that has ended ended: the last end that is really known, of the first container that has one. A failure
 * counts before a success; `statuses` begin with the one that says most.
 */
export function exitOf(pod: Pod, statuses: readonly ContainerStatus[]): Exit {
  const known = statuses.map(({ state, lastState }) =>
    [state?.terminated, lastState?.terminated]
      .filter((end) => end !== undefined)
      .filter(({ reason }) => reason !== unknownEnd),
  );
  const failed = known.map((ends) => latest(ends.filter(({ exitCode }) => exitCode !== 0)));
  const succeeded = pod.status?.phase === 'Succeeded' ? latest(known.flat()) : undefined;
  const last = failed.find((end) => end !== undefined) ?? succeeded;
  return last === undefined ? { code: null, signal: null, at: endedAt(pod) } : exitOfState(last);
}

/** How the last run ended that was followed by another. */
export function lastExitOf(statuses: readonly ContainerStatus[]): Exit | undefined {
  const last = latest(
    statuses
      .filter(({ restartCount, state }) => restartCount > 0 || state?.terminated !== undefined)
      .flatMap(({ state, lastState }) => [state?.terminated, lastState?.terminated])
      .filter((end) => end !== undefined)
      .filter(({ exitCode, reason }) => exitCode !== 0 && reason !== unknownEnd),
  );
  return last === undefined ? undefined : exitOfState(last);
}

function exitOfState({ exitCode, signal, finishedAt }: TerminatedState): Exit {
  return { code: exitCode, signal: signal ? `signal ${signal}` : null, at: timeOf(finishedAt) };
}

function latest(ends: readonly TerminatedState[]): TerminatedState | undefined {
  return ends.reduce<TerminatedState | undefined>(
    (last, end) => (last === undefined || timeOf(end.finishedAt) > timeOf(last.finishedAt) ? end : last),
    undefined,
  );
}

function endedAt({ metadata, status }: Pod): number {
  const times = status?.conditions?.map(({ lastTransitionTime }) => timeOf(lastTransitionTime)) ?? [];
  return Math.max(timeOf(metadata.creationTimestamp), ...times);
}

function timeOf(time: string | null | undefined): number {
  const parsed = Date.parse(time ?? '');
  return Number.isNaN(parsed) ? 0 : parsed;
}
