import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { isEnded, largestResult, type TaskLine } from '#wire/task-line.ts';
import type { TaskRecord } from '../queue/queue.ts';
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
    isError: result?.['isError'] === true,
  };
}

/** Tasks that are told of at the beginning of a stream. */
const mostCurrent = 10_000;

/** The tasks that the controller gave and that have not ended, for whoever begins to listen. */
export async function unendedTaskLines(tasks: Pick<TaskService, 'list'>): Promise<TaskLine[]> {
  const unended = (['pending', 'running', 'input_required'] as const).map((status) =>
    tasks.list({ status, owner: 'controller', limit: mostCurrent }),
  );
  return (await Promise.all(unended))
    .flat()
    .filter(({ key }) => key !== null)
    .map(taskLineOf);
}

export interface TaskChangesOptions {
  readonly tasks: Pick<TaskService, 'get' | 'onChange'>;
  readonly send: (line: TaskLine) => void;
  readonly log: Log;
}

/** Tells each change of state of the tasks that the controller gave. Returns the stop function. */
export function tellTaskChanges({ tasks, send, log }: TaskChangesOptions): () => void {
  /** What was told of tasks that have not ended. */
  const told = new Map<string, string>();
  async function tell(id: string): Promise<void> {
    const record = await tasks.get(id);
    if (record === undefined) return;
    const line = taskLineOf(record);
    if (isEnded(line)) told.delete(id);
    send(line);
  }
  return tasks.onChange(({ id, key, status }) => {
    // Progress changes no state.
    if (key === undefined || key === null || told.get(id) === status) return;
    told.set(id, status);
    tell(id).catch((error: unknown) => log.warn('a task was not told of', { id, error: messageOf(error) }));
  });
}
