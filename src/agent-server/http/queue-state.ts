import type { Clock } from '#kit/clock.ts';
import { queueBinding } from '#wire/binding.ts';
import { mostShown, type QueueState, type RunningTask } from '#wire/queue-state.ts';
import type { Guard } from '../mcp/guard.ts';
import type { TaskRecord } from '../queue/queue.ts';
import type { TaskService } from '../tasks/service.ts';
import { allowOnly, type Handler, sendObject } from './app.ts';

export type CountedTasks = Pick<TaskService, 'counts' | 'list'>;

/** GET /queue: what waits and runs now. */
export function queueStateHandler(tasks: CountedTasks, guard: Guard, clock: Clock): Handler {
  return async (request, response) => {
    if (!allowOnly(request, response, 'GET')) return;
    guard.admit(request, queueBinding);
    sendObject(response, 200, await readQueueState(tasks, clock.now()));
  };
}

/** `now` in milliseconds since the epoch. */
export async function readQueueState(tasks: CountedTasks, now: number): Promise<QueueState> {
  const [counts, pending, running] = await Promise.all([
    tasks.counts(),
    tasks.list({ status: 'pending', limit: 1 }),
    tasks.list({ status: 'running', limit: mostShown }),
  ]);
  const [oldest] = pending;
  return {
    pending: counts.pending,
    running: counts.running,
    inputRequired: counts.inputRequired,
    finished: counts.finished,
    oldestWaitMs: oldest === undefined ? null : sinceOf(oldest.createdAt, now),
    tasks: running.map((task) => describe(task, now)).sort((left, right) => right.runMs - left.runMs),
  };
}

function describe(
  { toolName, startedAt, updatedAt, attempt, progress }: TaskRecord,
  now: number,
): RunningTask {
  return {
    tool: toolName,
    runMs: sinceOf(startedAt ?? updatedAt, now),
    attempt,
    progress:
      progress === null
        ? null
        : { progress: progress.progress, ...(progress.total !== undefined && { total: progress.total }) },
  };
}

/** Clocks may have been set back. */
function sinceOf(time: string, now: number): number {
  return Math.max(0, now - Date.parse(time));
}
