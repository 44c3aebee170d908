import type { Clock } from '#kit/clock.ts';
import type { Params } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { begunTask } from '#mcp/tasks/rename.ts';
import { isOver, statusOf } from '#mcp/tasks/translate.ts';

/** The tasks that run in one upstream session, by what its answers say. */
export interface RunningTasks {
  /** The answer to a request. */
  note(method: string, params: Params, result: Result): void;
  /** Some task has neither ended, as far as anybody asked, nor lived longer than it says. */
  readonly any: boolean;
}

/** Milliseconds that one without a time to live is waited for. */
const longestMs = 86_400_000;
const most = 1000;

export function createRunningTasks(clock: Clock): RunningTasks {
  /** When they are no more. */
  const running = new Map<string, number>();
  return {
    note(method, { taskId }, result) {
      if (method === 'tools/call') {
        const task = begunTask(result);
        if (task === undefined || isOver(statusOf(task)) || running.size >= most) return;
        const ttl = task['ttl'] ?? task['ttlMs'];
        const ms = typeof ttl === 'number' ? Math.min(ttl, longestMs) : longestMs;
        running.set(String(task['taskId']), clock.monotonic() + ms);
      } else if (method === 'tasks/result' || isOver(statusOf(result))) running.delete(String(taskId));
    },
    get any() {
      for (const [id, end] of running) if (end <= clock.monotonic()) running.delete(id);
      return running.size > 0;
    },
  };
}

/** `request` that also notes what it learns of tasks. */
export function notingTasks<Call>(
  tasks: RunningTasks,
  request: (method: string, params: Params, call: Call) => Promise<Result>,
): (method: string, params: Params, call: Call) => Promise<Result> {
  return async (method, params, call) => {
    const result = await request(method, params, call);
    if (method === 'tools/call' || method.startsWith('tasks/')) tasks.note(method, params, result);
    return result;
  };
}
