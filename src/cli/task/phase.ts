import { findCondition } from '#api/conditions.ts';
import { taskPhases } from '#api/task/status.ts';
import type { Task, TaskStatus } from '#api/task.ts';

export type TaskPhase = NonNullable<TaskStatus['phase']>;
export const allPhases: readonly TaskPhase[] = taskPhases;

const finalPhases: ReadonlySet<string> = new Set([
  'Succeeded',
  'Failed',
  'Cancelled',
  'TimedOut',
  'Rejected',
  'Expired',
]);

export function phaseOf({ status }: Task): TaskPhase {
  return status?.phase ?? 'Pending';
}

export function isFinished(task: Task): boolean {
  return finalPhases.has(phaseOf(task));
}

/** The Agent that does it, or is to do it; undefined while any may. */
export function agentOf({ spec, status }: Task): string | undefined {
  return status?.agent ?? spec.agentRef?.name;
}

/** Why nothing happens to it: the message of its condition Accepted; undefined when it is accepted, or not seen yet. */
export function refusalOf({
  status,
}: Task): { readonly reason: string; readonly message: string } | undefined {
  const accepted = findCondition(status?.conditions, 'Accepted');
  return accepted?.status === 'False' ? accepted : undefined;
}

/** Why it waits: the message of its condition Stalled; undefined while nothing keeps it from going on. */
export function hindranceOf(task: Task): string | undefined {
  const stalled = findCondition(task.status?.conditions, 'Stalled');
  return stalled?.status === 'True' && !isFinished(task) ? stalled.message : undefined;
}
