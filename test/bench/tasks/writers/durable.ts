import { Worker } from 'node:worker_threads';
import { openDurableQueue } from '#agent-server/queue/durable-queue.ts';
import type { TaskQueue } from '#agent-server/queue/queue.ts';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { payloadOf, type Writer } from './writer.ts';

/** The queue as the agent-server opens it, with room for any backlog. */
export function openQueue(folder: string): Promise<TaskQueue> {
  const worker = new Worker(new URL('../programs/store-thread.ts', import.meta.url), {
    workerData: { folder, now: systemClock.now() },
  });
  return openDurableQueue({
    worker,
    clock: systemClock,
    random: systemRandom,
    logTailBytes: () => 131_072,
    maxFinished: 1000,
    maxPending: 10_000_000,
  });
}

export async function openDurable(folder: string): Promise<Writer> {
  const queue = await openQueue(folder);
  return {
    add: (number) => queue.enqueue({ toolName: 'work', payload: payloadOf(number) }),
    close: () => queue.close(),
  };
}
