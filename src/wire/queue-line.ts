export const taskOutcomes = ['succeeded', 'failed', 'timed_out', 'interrupted', 'cancelled'] as const;
export type TaskOutcome = (typeof taskOutcomes)[number];

/** How a task ended, and how long it waited and ran, in milliseconds. */
export type EndedTask = readonly [outcome: TaskOutcome, waitedMs: number, ranMs: number];

/**
 * A line of `GET /changes`: how many tasks wait and run, and which ended since the line before. Sent a few times a
 * minute at most, and not while nothing changes.
 */
export interface QueueLine {
  readonly type: 'queue';
  readonly pending: number;
  readonly running: number;
  readonly inputRequired: number;
  readonly ended: readonly EndedTask[];
}

/** Ended tasks in one line. */
export const mostEnded = 1_000;

/** What a line says; what is no number in it counts as none. */
export function readQueueLine(value: Readonly<Record<string, unknown>>): QueueLine {
  const ended = Array.isArray(value['ended']) ? value['ended'].slice(0, mostEnded) : [];
  return {
    type: 'queue',
    pending: numberOf(value['pending']),
    running: numberOf(value['running']),
    inputRequired: numberOf(value['inputRequired']),
    ended: ended.map(readEnded).filter((each) => each !== undefined),
  };
}

function readEnded(value: unknown): EndedTask | undefined {
  const [said, waitedMs, ranMs] = Array.isArray(value) ? (value as unknown[]) : [];
  const outcome = taskOutcomes.find((known) => known === said);
  return outcome === undefined ? undefined : [outcome, numberOf(waitedMs), numberOf(ranMs)];
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.max(0, value) : 0;
}
