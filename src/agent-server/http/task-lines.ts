import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { isEnded, largestResult, type TaskLine } from '#wire/task-line.ts';
import type { TaskChange, TaskRecord } from '../queue/queue.ts';
import type { TaskService } from '../tasks/service.ts';

const longestMessage = 4096;

/** What the controller is told of a task; of a record that `list` gave, whose results are left out, as far as it goes. */
export function taskLineOf(record: TaskRecord): TaskLine {
  const { result } = record;
  const bytes = result === null ? 0 : Buffer.byteLength(JSON.stringify(result));
  return {
    type: 'task',
    key: record.key ?? '',
    id: record.id,
    status: record.status,
    reason: record.reason ?? '',
    message: (record.error ?? '').slice(0, longestMessage),
    exitCode: record.exitCode,
    startedAt: record.startedAt,
    finishedAt: record.finishedAt,
    ...(result !== null && bytes <= largestResult && { result }),
    resultBytes: bytes,
    ...(record.resultBlob !== undefined && { blob: record.resultBlob }),
    isError: result?.['isError'] === true,
  };
}

/** Tasks that are told of at the beginning of a stream. */
const mostCurrent = 10_000;

/** The tasks (of this owner) that the controller gave a key and that have not ended, for whoever begins to listen. */
export async function unendedTaskLines(
  tasks: Pick<TaskService, 'list'>,
  owner?: string,
): Promise<TaskLine[]> {
  const unended = (['pending', 'running', 'input_required'] as const).map((status) =>
    tasks.list({ status, ...(owner !== undefined && { owner }), limit: mostCurrent }),
  );
  return (await Promise.all(unended))
    .flat()
    .filter(({ key }) => key !== null)
    .map(taskLineOf);
}

export interface TaskChangesOptions {
  readonly tasks: Pick<TaskService, 'get' | 'onChange'>;
  readonly clock: Clock;
  readonly send: (line: TaskLine) => void;
  readonly log: Log;
}

/** Milliseconds until an end that could not be read is read again, the first time; later twice as long each time. */
const firstRetryMs = 1000;
const mostRetryMs = 60_000;

/**
 * Tells each change of state of the tasks that the controller gave. What has ended is read for its result, and read
 * again until it is told or forgotten: nobody else would say that it ended. Returns the stop function.
 */
export function tellTaskChanges({ tasks, clock, send, log }: TaskChangesOptions): () => void {
  /** What was told of tasks that have not ended. */
  const told = new Map<string, string>();
  /** Of ends that are to be read again. */
  const timers = new Map<string, () => void>();
  let stopped = false;

  async function tellEnd(id: string, retryMs: number): Promise<void> {
    try {
      const record = await tasks.get(id);
      if (record !== undefined && !stopped) send(taskLineOf(record));
    } catch (error) {
      if (stopped) return;
      if (retryMs === firstRetryMs)
        log.warn('a task was not told of; it is tried again', { id, error: messageOf(error) });
      timers.set(id, clock.after(retryMs, again(id, retryMs)));
    }
  }
  const again = (id: string, retryMs: number) => () => {
    timers.delete(id);
    void tellEnd(id, Math.min(2 * retryMs, mostRetryMs));
  };
  const unsubscribe = tasks.onChange((change) => {
    const { id, key, status } = change;
    // Progress changes no state.
    if (key === undefined || key === null || told.get(id) === status) return;
    if (isEnded(change)) {
      told.delete(id);
      void tellEnd(id, firstRetryMs);
    } else {
      told.set(id, status);
      send(lineOfChange(change, key));
    }
  });
  return () => {
    stopped = true;
    unsubscribe();
    for (const cancel of timers.values()) cancel();
  };
}

/** Of what has not ended there is no more to tell. */
function lineOfChange({ id, status, reason, startedAt, finishedAt }: TaskChange, key: string): TaskLine {
  const state = { id, status, reason: reason ?? '', startedAt, finishedAt };
  return { type: 'task', key, ...state, message: '', exitCode: null, resultBytes: 0, isError: false };
}
