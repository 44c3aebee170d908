import { Worker } from 'node:worker_threads';
import { createTaskQueue, type DurableQueueOptions } from '#agent-server/queue/durable-queue.ts';
import type { TaskQueue } from '#agent-server/queue/queue.ts';
import { defaultLimits, type StoreLimits } from '#agent-server/queue/store/operations.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';

/** A queue in a folder, its store in a thread, with logs of 100 bytes. */
export function openQueue(
  folder: string,
  { limits, ...more }: Partial<Omit<DurableQueueOptions, 'limits'>> & { limits?: Partial<StoreLimits> } = {},
): TaskQueue {
  return createTaskQueue({
    folder,
    imports: [],
    limits: { ...defaultLimits, ...limits },
    startThread: (workerData) => new Worker(new URL('./store-thread.ts', import.meta.url), { workerData }),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    logTailBytes: () => 100,
    ...more,
  });
}
