import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { TaskChange, TaskQueue } from '#agent-server/queue/queue.ts';
import type { Operation } from '#agent-server/queue/store/operations.ts';
import { done, leased, task } from './checks.ts';
import { queueFolder } from './folders.ts';
import { openQueue } from './open-queue.ts';

const timeout = 30_000;

/** A queue whose first thread ends after such an operation was written and before that is told. */
function dying(t: TestContext, dieAfter: Operation['type']): TaskQueue {
  let threads = 0;
  const queue = openQueue(queueFolder(t), {
    startThread(data) {
      threads += 1;
      if (threads > 1) return new Worker(new URL('./store-thread.ts', import.meta.url), { workerData: data });
      const workerData = { ...data, dieAfter };
      return new Worker(new URL('./dying-thread.ts', import.meta.url), { workerData });
    },
  });
  t.after(() => queue.close());
  return queue;
}

const refusal = { code: 'QueueUnavailable' };

test('a task that was refused because the thread ended is not run', { timeout }, async (t) => {
  const queue = dying(t, 'add');
  await assert.rejects(queue.enqueue(task('a', { key: 'k' })), refusal);
  assert.deepEqual(await queue.list(), []);
  assert.equal(await queue.lease(), undefined);
  assert.equal((await queue.enqueue(task('b', { key: 'k' }))).toolName, 'b');
});

test('a call that was refused to be a task does not run a second time as one', { timeout }, async (t) => {
  const queue = dying(t, 'begin');
  await assert.rejects(queue.begin(task('a', { retries: 3 })), refusal);
  assert.equal(await queue.lease(), undefined);
  assert.deepEqual(await queue.list(), []);
});

test('a task that was leased to nobody runs as if it had not been', { timeout }, async (t) => {
  const queue = dying(t, 'lease');
  const { id } = await queue.enqueue(task('a'));
  await assert.rejects(queue.lease(), refusal);
  const lease = await leased(queue);
  assert.deepEqual([lease.task.id, lease.task.attempt], [id, 1]);
  assert.equal(await queue.settle(lease, done), true);
  assert.equal((await queue.get(id))?.reason, null);
});

test('an outcome that was recorded as the thread ended is told, once', { timeout }, async (t) => {
  const queue = dying(t, 'settle');
  const { id } = await queue.enqueue(task('a'));
  const lease = await leased(queue);
  const told: TaskChange[] = [];
  queue.onChange((change) => told.push(change));
  assert.equal(await queue.settle(lease, done), true);
  assert.equal(await queue.settle(lease, done), false);
  assert.equal((await queue.get(id))?.status, 'completed');
  assert.deepEqual(
    told.map(({ id: changed, status }) => [changed, status]),
    [[id, 'completed']],
  );
});

test('what runs goes on when the thread ends with the task of another', { timeout }, async (t) => {
  const queue = dying(t, 'cancel');
  await queue.enqueue(task('a'));
  const lease = await leased(queue);
  const other = await queue.enqueue(task('b'));
  await assert.rejects(queue.cancel(other.id), refusal);
  assert.equal(await queue.settle(lease, done), true);
  assert.deepEqual(
    (await queue.list()).map(({ status }) => status),
    ['completed', 'cancelled'],
  );
});
