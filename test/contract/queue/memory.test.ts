import { createMemoryQueue } from '#agent-server/queue/memory-queue.ts';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { queueContract } from './contract.ts';

queueContract('memory', async () =>
  createMemoryQueue({
    clock: systemClock,
    random: systemRandom,
    logTailBytes: () => 100,
    maxFinished: 5,
    maxPending: 7,
  }),
);
