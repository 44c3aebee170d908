import type { AgentSpec } from '#api/agent.ts';
import type { Workload } from '#drivers/workload.ts';

/** Pure. `spec.tasks` in the words of an agent-server's settings. */
export function queueLimits({ tasks }: Pick<AgentSpec, 'tasks'>): Workload['agentServer']['limits'] {
  if (tasks === undefined) return {};
  const { track, maxTracked, limits = {} } = tasks;
  const known: Readonly<Record<string, number | undefined>> = {
    maxTrackedTasks: track === 'Always' ? maxTracked : undefined,
    maxQueuedCalls: limits.maxQueued,
    maxQueuedBytes: limits.maxQueuedBytes,
    maxFinishedTasks: limits.maxFinished,
    maxFinishedBytes: limits.maxFinishedBytes,
    taskRetentionMs: inMs(limits.retentionSeconds),
    maxParkedCalls: limits.maxAsking,
    taskAnswerMs: inMs(limits.answerSeconds),
    taskLogTailBytes: limits.logBytes,
  };
  return Object.fromEntries(
    Object.entries(known).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

function inMs(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}
