import { isObject } from '#kit/json.ts';

/** Where an agent-server tells how its queue is. */
export const queuePath = '/queue';

/** What waits and runs at an agent-server now. Times are spans in milliseconds: clocks of two machines differ. */
export interface QueueState {
  readonly pending: number;
  readonly running: number;
  /** Wait for an answer of somebody, and hold no place. */
  readonly inputRequired: number;
  /** Those that are remembered. */
  readonly finished: { readonly completed: number; readonly failed: number; readonly cancelled: number };
  /** How long the task waits that waits longest. */
  readonly oldestWaitMs: number | null;
  /** The tasks that run, the oldest first; of many the first `mostShown`. */
  readonly tasks: readonly RunningTask[];
}

/** Says nothing of the task's id, which is the right to read all of it. */
export interface RunningTask {
  readonly tool: string;
  readonly runMs: number;
  readonly attempt: number;
  readonly progress: { readonly progress: number; readonly total?: number } | null;
}

/** Running tasks that one agent-server names. */
export const mostShown = 20;
const longestName = 255;

/** What an agent-server answered, as far as it is what it should be: nobody vouches for it. */
export function parseQueueState(value: unknown): QueueState | undefined {
  if (!isObject(value)) return undefined;
  const finished = isObject(value['finished']) ? value['finished'] : {};
  const { oldestWaitMs, tasks } = value;
  return {
    pending: countOf(value['pending']),
    running: countOf(value['running']),
    inputRequired: countOf(value['inputRequired']),
    finished: {
      completed: countOf(finished['completed']),
      failed: countOf(finished['failed']),
      cancelled: countOf(finished['cancelled']),
    },
    oldestWaitMs: typeof oldestWaitMs === 'number' ? countOf(oldestWaitMs) : null,
    tasks: (Array.isArray(tasks) ? tasks : []).slice(0, mostShown).filter(isObject).map(readTask),
  };
}

function readTask({ tool, runMs, attempt, progress }: Record<string, unknown>): RunningTask {
  return {
    tool: typeof tool === 'string' ? tool.slice(0, longestName) : '',
    runMs: countOf(runMs),
    attempt: countOf(attempt),
    progress: readProgress(progress),
  };
}

function readProgress(value: unknown): RunningTask['progress'] {
  if (!isObject(value) || !isNumber(value['progress'])) return null;
  const { progress, total } = value;
  return { progress, ...(isNumber(total) && { total }) };
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function countOf(value: unknown): number {
  return isNumber(value) ? Math.min(Math.max(0, Math.floor(value)), Number.MAX_SAFE_INTEGER) : 0;
}

/** What several instances of one agent say, as one. */
export function mergeQueueStates(states: readonly QueueState[]): QueueState {
  const sum = (read: (state: QueueState) => number) =>
    states.reduce((total, state) => total + read(state), 0);
  const waits = states.flatMap(({ oldestWaitMs }) => oldestWaitMs ?? []);
  return {
    pending: sum(({ pending }) => pending),
    running: sum(({ running }) => running),
    inputRequired: sum(({ inputRequired }) => inputRequired),
    finished: {
      completed: sum(({ finished }) => finished.completed),
      failed: sum(({ finished }) => finished.failed),
      cancelled: sum(({ finished }) => finished.cancelled),
    },
    oldestWaitMs: waits.length === 0 ? null : Math.max(...waits),
    tasks: states
      .flatMap(({ tasks }) => tasks)
      .sort((left, right) => right.runMs - left.runMs)
      .slice(0, mostShown),
  };
}
