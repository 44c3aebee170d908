import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import type { Log } from '#kit/log.ts';
import { type ExecutionLine, largestTold } from '#wire/execution-line.ts';
import { isEnded } from '#wire/task-line.ts';
import type { TaskRecord } from '../queue/queue.ts';
import type { TaskService } from '../tasks/service.ts';

type Tasks = Pick<TaskService, 'get' | 'list' | 'onChange'>;

/** Tasks that are looked through at the beginning of a stream. */
const mostListed = 20_000;

/**
 * What clients began and nobody has given a key yet, for whoever begins to listen: of what has not ended the oldest, of
 * what has ended the youngest, `most` of each. What ended while nobody listened is told as well.
 */
export async function executionLines(tasks: Tasks, most: number): Promise<ExecutionLine[]> {
  if (most === 0) return [];
  const keyless = (await tasks.list({ limit: mostListed })).filter(({ key }) => key === null);
  const open = keyless.filter((task) => !isEnded(task)).slice(0, most);
  const over = keyless.filter(isEnded).slice(-most);
  const lines: ExecutionLine[] = [];
  for (const { id } of [...open, ...over]) {
    const record = await tasks.get(id);
    if (record !== undefined) lines.push(lineOf(record));
  }
  return lines;
}

export interface ExecutionNewsOptions {
  readonly tasks: Tasks;
  /** 0: nothing is told. */
  readonly most: number;
  readonly send: (line: ExecutionLine) => void;
  readonly log: Log;
}

/** Tells of each task that a client begins, once. Returns the stop function. */
export function tellExecutions({ tasks, most, send, log }: ExecutionNewsOptions): () => void {
  if (most === 0) return () => undefined;
  const told = new Set<string>();
  let stopped = false;
  async function tell(id: string): Promise<void> {
    try {
      const record = await tasks.get(id);
      if (record?.key === null && !stopped) send(lineOf(record));
    } catch (error) {
      // It is told of at the beginning of the next stream.
      log.warn('a task of a client was not told of', { id, error: messageOf(error) });
    }
  }
  const unsubscribe = tasks.onChange((change) => {
    const { id, key } = change;
    if (isEnded(change)) {
      if (told.delete(id) || (key !== null && key !== undefined)) return;
      // It began before this was listened for.
      void tell(id);
    } else if ((key === null || key === undefined) && !told.has(id)) {
      told.add(id);
      void tell(id);
    }
  });
  return () => {
    stopped = true;
    unsubscribe();
  };
}

function lineOf({ id, toolName: tool, payload, finishedAt }: TaskRecord): ExecutionLine {
  const input = isObject(payload['input']) ? payload['input'] : {};
  const isShort = Buffer.byteLength(JSON.stringify(input)) <= largestTold;
  return { type: 'execution', id, tool, ...(isShort && { input }), finishedAt };
}
