import assert from 'node:assert/strict';
import { appendFileSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { TaskQueue, TaskRecord } from '#agent-server/queue/queue.ts';
import { done, leased, task } from './checks.ts';
import { copyOf, listLog, queueFolder } from './folders.ts';
import { openQueue } from './open-queue.ts';

const timeout = 30_000;
const interrupted = 'Task interrupted before completion (agent restart)';

function opened(t: TestContext, ...args: Parameters<typeof openQueue>): TaskQueue {
  const queue = openQueue(...args);
  t.after(() => queue.close());
  return queue;
}

async function wholes(queue: TaskQueue): Promise<TaskRecord[]> {
  const records = await Promise.all((await queue.list()).map(({ id }) => queue.get(id)));
  return records.filter((record) => record !== undefined);
}

test('what ran when its process was killed runs again as often as it may, and else has failed', {
  timeout,
}, async (t) => {
  const folder = queueFolder(t);
  const queue = opened(t, folder);
  await queue.enqueue(task('once'));
  await queue.enqueue(task('twice', { retries: 1 }));
  await queue.enqueue(task('waits'));
  await queue.release(await leased(queue));
  for (let count = 0; count < 2; count++) await leased(queue);
  const secondFolder = copyOf(t, folder);
  const second = opened(t, secondFolder);
  const about = ({ toolName, status, attempt, reason, error }: TaskRecord) => [
    toolName,
    status,
    attempt,
    reason,
    error,
  ];
  assert.deepEqual((await wholes(second)).map(about), [
    ['once', 'failed', 2, 'Interrupted', interrupted],
    ['twice', 'pending', 1, null, null],
    ['waits', 'pending', 0, null, null],
  ]);
  assert.equal((await leased(second)).task.toolName, 'twice', 'at its old place');
  const third = opened(t, copyOf(t, secondFolder));
  assert.deepEqual((await wholes(third)).map(about)[1], ['twice', 'failed', 2, 'Interrupted', interrupted]);
});

test('what was cancelled, asked and answered is so after a kill', { timeout }, async (t) => {
  const folder = queueFolder(t);
  const queue = opened(t, folder);
  for (const tool of ['cancelling', 'asking', 'answered', 'done'])
    await queue.enqueue(task(tool, { retries: 3 }));
  const cancelling = await leased(queue);
  await queue.cancel(cancelling.task.id);
  const ask = { status: 'input_required', requests: { q: { a: 1 } }, state: 's' } as const;
  await queue.settle(await leased(queue), ask);
  const answered = await leased(queue);
  await queue.settle(answered, ask);
  await queue.answer(answered.task.id, { q: 'yes' });
  await leased(queue);
  await queue.settle(await leased(queue), done);
  const again = opened(t, copyOf(t, folder));
  assert.deepEqual(
    (await wholes(again)).map((record) => [
      record.toolName,
      record.status,
      record.inputResponses,
      record.requestState,
    ]),
    [
      ['cancelling', 'cancelled', null, null],
      ['asking', 'input_required', null, 's'],
      ['answered', 'pending', { q: 'yes' }, 's'],
      ['done', 'completed', null, null],
    ],
  );
});

test('on an orderly end tasks that run are put back or fail, with their logs, and their holders hear of it', {
  timeout,
}, async (t) => {
  const folder = queueFolder(t);
  const queue = openQueue(folder);
  await queue.enqueue(task('once'));
  await queue.enqueue(task('twice', { retries: 1 }));
  const [once, twice] = [await leased(queue), await leased(queue)];
  queue.progress(once, Buffer.from('as far as it came'));
  const closing = queue.close();
  assert.equal(await queue.settle(twice, done), false, 'the queue decided before');
  await closing;
  assert.deepEqual([once.signal.aborted, twice.signal.aborted], [true, true]);
  assert.equal(await queue.settle(once, done), false);
  const again = opened(t, folder);
  assert.deepEqual(
    (await wholes(again)).map(({ toolName, status, reason, logTail }) => [toolName, status, reason, logTail]),
    [
      ['once', 'failed', 'Interrupted', 'as far as it came'],
      ['twice', 'pending', null, ''],
    ],
  );
});

test('a lease on its way when the end begins is put back unharmed', { timeout }, async (t) => {
  const folder = queueFolder(t);
  const queue = openQueue(folder);
  await queue.enqueue(task('a'));
  const lease = queue.lease();
  await queue.end();
  await queue.close();
  assert.equal(await lease, undefined);
  const [found] = await opened(t, folder).list();
  assert.deepEqual([found?.toolName, found?.status, found?.reason], ['a', 'pending', null]);
});

test('an attempt whose process was lost runs again while it may', { timeout }, async (t) => {
  const queue = opened(t, queueFolder(t));
  const { id } = await queue.enqueue(task('a', { retries: 1 }));
  assert.equal(await queue.interrupt(await leased(queue)), true);
  const lease = await leased(queue);
  assert.deepEqual([lease.task.id, lease.task.attempt], [id, 2]);
  await queue.interrupt(lease);
  assert.equal((await queue.get(id))?.reason, 'Interrupted');
  assert.equal(await queue.interrupt(lease), false);
});

test('when the thread of the store ends, the queue goes on with another one', { timeout }, async (t) => {
  const workers: Worker[] = [];
  const queue = opened(t, queueFolder(t), {
    startThread(workerData) {
      const worker = new Worker(new URL('./store-thread.ts', import.meta.url), { workerData });
      workers.push(worker);
      return worker;
    },
  });
  const { id } = await queue.enqueue(task('a'));
  const lease = await leased(queue);
  await workers[0]?.terminate();
  assert.equal(await queue.settle(lease, done), true);
  assert.deepEqual([(await queue.get(id))?.status, workers.length], ['completed', 2]);
});

test('an agent without tasks has no queue: nothing is made before the first one', { timeout }, async (t) => {
  const folder = queueFolder(t);
  const queue = opened(t, folder, {
    startThread() {
      throw new Error('no thread is needed');
    },
  });
  const id = '0'.repeat(16);
  assert.deepEqual(
    [
      await queue.lease(),
      await queue.get(id),
      await queue.getByKey('k'),
      await queue.cancel(id),
      await queue.answer(id, {}),
      await queue.list(),
    ],
    [undefined, undefined, undefined, 'unknown', 'unknown', []],
  );
  assert.equal(existsSync(folder), false);
});

test('what an earlier process left is opened at once, and told to those who lease', {
  timeout,
}, async (t) => {
  const folder = queueFolder(t);
  const first = openQueue(folder);
  await first.enqueue(task('a'));
  await first.close();
  const queue = opened(t, folder);
  await new Promise<void>((resolve) => queue.onPending(resolve));
  assert.equal(queue.counts().pending, 1);
});

test('a log with a torn end is opened with a warning', { timeout }, async (t) => {
  const folder = queueFolder(t);
  const queue = opened(t, folder);
  await queue.enqueue(task('a'));
  const torn = copyOf(t, folder);
  appendFileSync(join(torn, 'tasks.sqlite-wal'), Buffer.alloc(1000, 7));
  const { log, lines } = listLog();
  const again = opened(t, torn, { log });
  assert.equal((await again.list()).length, 1);
  assert.deepEqual(
    lines.map(({ level, message }) => [level, message]),
    [['warn', 'The end of the log of tasks was torn: what was not acknowledged is left out']],
  );
});

test('a damaged file is refused with what to do, by everything that is asked', { timeout }, async (t) => {
  const folder = queueFolder(t);
  const queue = openQueue(folder);
  await queue.enqueue(task('a'));
  await queue.close();
  writeFileSync(join(folder, 'tasks.sqlite'), 'no database'.repeat(1000));
  const { log, lines } = listLog();
  const damaged = opened(t, folder, { log });
  const refusal = {
    code: 'QueueDamaged',
    remedy: new RegExp(`agent-server.mjs repair-queue --folder ${folder}`),
  };
  await assert.rejects(damaged.enqueue(task('b')), refusal);
  await assert.rejects(damaged.get('0'.repeat(16)), refusal);
  await assert.rejects(damaged.lease(), refusal);
  assert.deepEqual(
    lines.map(({ level, message }) => [level, message]),
    [['error', 'The queue of tasks cannot be opened']],
  );
});

test('a folder that another process still has is taken over when it ends', { timeout }, async (t) => {
  const folder = queueFolder(t);
  const first = openQueue(folder);
  await first.enqueue(task('a'));
  const second = opened(t, folder);
  await assert.rejects(second.enqueue(task('b')), { code: 'QueueInUse' });
  const pending = new Promise<void>((resolve) => second.onPending(resolve));
  await first.close();
  await pending;
  assert.equal((await leased(second)).task.toolName, 'a');
});
