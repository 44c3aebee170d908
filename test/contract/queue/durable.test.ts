import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { queueContract } from './contract.ts';
import { openQueue } from './open-queue.ts';

queueContract('durable', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'queue-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const limits = { maxFinished: 5, graceMs: 0, maxPending: 7, maxAsking: 3 };
  return openQueue(join(folder, '.tasksQueue'), { limits });
});
