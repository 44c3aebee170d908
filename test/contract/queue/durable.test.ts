import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { openDurableQueue } from '#agent-server/queue/durable-queue.ts';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { queueContract } from './contract.ts';

queueContract('durable', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'queue-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const worker = new Worker(new URL('./store-thread.ts', import.meta.url), {
    workerData: { folder, now: systemClock.now() },
  });
  return openDurableQueue({
    worker,
    clock: systemClock,
    random: systemRandom,
    logTailBytes: () => 100,
    maxFinished: 5,
    maxPending: 7,
  });
});
