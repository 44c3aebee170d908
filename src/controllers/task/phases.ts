import type { Task, TaskSpec, TaskStatus } from '#api/task.ts';

export type Phase = NonNullable<TaskStatus['phase']>;

const finalPhases: ReadonlySet<Phase | undefined> = new Set<Phase>([
  'Succeeded',
  'Failed',
  'Cancelled',
  'TimedOut',
  'Rejected',
  'Expired',
]);

/** True when nothing more becomes of it. */
export function isFinal({ status }: Pick<Task, 'status'>): boolean {
  return finalPhases.has(status?.phase);
}

/** True while an instance has its present attempt. */
export function isClaimed(task: Pick<Task, 'status'>): boolean {
  return !isFinal(task) && task.status?.instance !== undefined;
}

/** Idempotency key of an attempt, which counts from 1. */
export function attemptKey(uid: string, attempt: number): string {
  return `${uid}/${attempt}`;
}

/** The uid and the attempt of a key; undefined for a key that is none of ours. */
export function splitKey(key: string): { readonly uid: string; readonly attempt: number } | undefined {
  const slash = key.lastIndexOf('/');
  const attempt = Number(key.slice(slash + 1));
  return slash < 1 || !Number.isInteger(attempt) ? undefined : { uid: key.slice(0, slash), attempt };
}

/** Key of the attempt that the status speaks of. */
export function currentKey({ metadata, status }: Task): string {
  return attemptKey(metadata.uid ?? '', status?.attempts ?? 0);
}

/** What the agent's queue calls them. */
export const priorities: Readonly<Record<TaskSpec['priority'], 0 | 1 | 2 | 3>> = {
  low: 0,
  medium: 1,
  high: 2,
  critical: 3,
};

/** metav1.Time: RFC 3339 in whole seconds. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
