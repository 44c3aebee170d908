import type { Clock } from '#kit/clock.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import type { Gate } from '../queue/gate.ts';
import type { Lease, Outcome, TaskQueue } from '../queue/queue.ts';
import { startTaskRunner } from '../queue/runner.ts';
import { awaitTools } from './awaited-tools.ts';
import { newTask } from './payload.ts';
import type { TaskOrder, TaskService } from './service.ts';
import type { TaskHooks, TaskTools } from './task-tools.ts';
import { endUnanswered } from './unanswered.ts';

export interface TaskServiceOptions {
  readonly queue: TaskQueue;
  /** One limit for every execution, queued or not. */
  readonly gate: Gate;
  readonly clock: Clock;
  /** Milliseconds for which a task waits for answers to what it asks. */
  readonly answerMs: number;
  /** uid of this instance. */
  readonly instance: string;
}

export interface RunningTaskService extends TaskService {
  /**
   * Runs tasks with these tools from now on: to be called once they are known, so that no task fails for want of a
   * tool that is only late. Returns the stop function; tasks that run go on.
   */
  serve(tools: TaskTools): () => void;
  /** Records a call that runs already as a task. Rejects as `submit`. */
  begin(order: TaskOrder, startedAt: number): Promise<BegunTask>;
}

/** A call that became a task while it ran, and whoever runs it. */
export interface BegunTask {
  readonly lease: Lease;
  onOutput(bytes: Uint8Array): void;
  onProgress(progress: Parameters<TaskQueue['report']>[1]): void;
  end(outcome: Outcome | 'lost'): Promise<void>;
}

export function createTaskService({
  queue,
  gate,
  clock,
  answerMs,
  instance,
}: TaskServiceOptions): RunningTaskService {
  let tools: TaskTools = noTools;

  async function settle(lease: Lease, outcome: Outcome | 'lost'): Promise<void> {
    if (outcome === 'lost') await queue.interrupt(lease);
    else await queue.settle(lease, outcome);
  }
  return {
    async submit(order) {
      const known = order.key === undefined ? undefined : await queue.getByKey(order.key);
      if (known !== undefined) return known;
      return queue.enqueue(newTask(order, tools.admit(order.tool, order.input), instance));
    },
    async begin(order, startedAt) {
      const { key: _none, ...task } = newTask(order, tools.admit(order.tool, order.input), instance);
      const lease = await queue.begin(task, startedAt);
      return {
        lease,
        onOutput: (bytes) => queue.progress(lease, bytes),
        onProgress: (progress) => queue.report(lease, progress),
        end: (outcome) => settle(lease, outcome),
      };
    },
    get: (id) => queue.get(id),
    getByKey: (key) => queue.getByKey(key),
    adopt: (id, key) => queue.adopt(id, key),
    cancel: (id) => queue.cancel(id),
    async answer(id, responses) {
      if ((await queue.answer(id, responses)) === 'unknown') return undefined;
      return queue.get(id);
    },
    list: (filter) => queue.list(filter),
    counts: async () => queue.counts(),
    onChange: (listener) => queue.onChange(listener),
    serve(next) {
      tools = next;
      const stopLooking = endUnanswered({ queue, clock, ttlMs: answerMs });
      const awaited = awaitTools({ queue, clock, knows: (tool) => tools.knows?.(tool) ?? true });
      const stopRunner = startTaskRunner({
        queue: awaited,
        gate,
        limitOf: (tool) => tools.limitOf?.(tool),
        async execute(lease, onOutput) {
          const onProgress: TaskHooks['onProgress'] = (progress) => queue.report(lease, progress);
          const outcome = await tools.execute(lease, { onOutput, onProgress });
          if (outcome !== 'lost') return outcome;
          await queue.interrupt(lease);
          // Not recorded: the lease is no longer the current one.
          return { status: 'cancelled' };
        },
      });
      return () => {
        stopLooking();
        stopRunner();
        awaited.close();
      };
    },
  };
}

const noTools: TaskTools = {
  admit() {
    throw new RpcError(errorCodes.server, 'The tools are not known yet; try again in a moment');
  },
  execute: async () => 'lost',
};
