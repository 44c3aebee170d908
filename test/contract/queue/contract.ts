import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { TaskQueue } from '#agent-server/queue/queue.ts';
import { type Check, leased, result, task } from './checks.ts';
import { orderContract } from './order.ts';
import { questionContract } from './questions.ts';

/**
 * What every TaskQueue must do. `make` gives an empty one with room for 100-byte logs, 5 finished, 7 waiting and 3 asking
 * tasks.
 */
export function queueContract(name: string, make: (t: TestContext) => Promise<TaskQueue>): void {
  const check: Check = (what, body) =>
    test(`${name}: ${what}`, { timeout: 20_000 }, async (t) => {
      const queue = await make(t);
      t.after(() => queue.close());
      await body(queue);
    });
  lifeContract(check);
  bookkeepingContract(check);
  orderContract(check);
  questionContract(check);
}

function lifeContract(check: Check): void {
  check('an enqueued task has an id, its payload and no outcome', async (queue) => {
    const record = await queue.enqueue(task('a', { timeoutMs: 5 }));
    assert.match(record.id, /^[0-9a-f]{16}$/);
    assert.deepEqual(await queue.get(record.id), record);
    const { status, timeoutMs, attempt, error, result: none, payload, logTail } = record;
    assert.deepEqual(
      [status, timeoutMs, attempt, error, none, payload, logTail],
      ['pending', 5, 0, null, null, { n: 'a' }, ''],
    );
    assert.ok(!Number.isNaN(Date.parse(record.createdAt)));
  });

  check('tasks are leased in the order of enqueueing, each once', async (queue) => {
    for (const tool of ['a', 'b', 'c']) await queue.enqueue(task(tool));
    const tools = [await leased(queue), await leased(queue), await leased(queue)].map(
      (lease) => lease.task.toolName,
    );
    assert.deepEqual(tools, ['a', 'b', 'c']);
    assert.equal(await queue.lease(), undefined);
  });

  check('the same key is the same task, also after it has finished', async (queue) => {
    const first = await queue.enqueue(task('a', { key: 'k' }));
    assert.equal((await queue.enqueue(task('b', { key: 'k' }))).id, first.id);
    await queue.settle(await leased(queue), { status: 'completed', result });
    assert.equal((await queue.enqueue(task('c', { key: 'k' }))).status, 'completed');
    assert.equal(await queue.lease(), undefined);
  });

  check('an outcome is recorded once', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    const lease = await leased(queue);
    assert.equal((await queue.get(id))?.status, 'running');
    assert.equal(await queue.settle(lease, { status: 'completed', result }), true);
    assert.equal(await queue.settle(lease, { status: 'failed', error: 'late' }), false);
    const record = await queue.get(id);
    assert.deepEqual([record?.status, record?.result, record?.error], ['completed', result, null]);
  });

  check('a failure keeps its message and its result', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    await queue.settle(await leased(queue), { status: 'failed', error: 'broken', result });
    const record = await queue.get(id);
    assert.deepEqual([record?.status, record?.error, record?.result], ['failed', 'broken', result]);
  });

  check('a released task runs again before younger ones, and its old lease counts no more', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    await queue.enqueue(task('b'));
    const old = await leased(queue);
    await queue.release(old);
    const again = await leased(queue);
    assert.deepEqual([again.task.id, old.task.attempt, again.task.attempt], [id, 1, 2]);
    assert.equal(await queue.settle(old, { status: 'completed', result }), false);
    assert.equal((await queue.get(id))?.status, 'running');
    assert.equal(await queue.settle(again, { status: 'completed', result }), true);
  });

  check('a pending task that is cancelled never runs', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    assert.equal(await queue.cancel(id), 'cancelled');
    assert.equal(await queue.lease(), undefined);
    assert.deepEqual(
      [(await queue.get(id))?.status, await queue.cancel(id), await queue.cancel('0'.repeat(16))],
      ['cancelled', 'finished', 'unknown'],
    );
  });

  check('a running task that is cancelled tells its holder', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    const lease = await leased(queue);
    assert.equal(lease.signal.aborted, false);
    assert.equal(await queue.cancel(id), 'cancelling');
    assert.equal(lease.signal.aborted, true);
    await queue.settle(lease, { status: 'cancelled' });
    assert.equal((await queue.get(id))?.status, 'cancelled');
  });
}

function bookkeepingContract(check: Check): void {
  check('the log keeps its end, counts its pieces and takes nothing after the outcome', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    const lease = await leased(queue);
    queue.progress(lease, Buffer.from('x'.repeat(80)));
    assert.equal((await queue.get(id))?.logTruncated, false);
    queue.progress(lease, Buffer.from('y'.repeat(80)));
    const record = await queue.get(id);
    assert.deepEqual(
      [record?.logTail, record?.logSeq, record?.logTruncated],
      [`${'x'.repeat(20)}${'y'.repeat(80)}`, 2, true],
    );
    await queue.settle(lease, { status: 'completed', result });
    queue.progress(lease, Buffer.from('late'));
    assert.equal((await queue.get(id))?.logSeq, 2);
  });

  check('tasks are listed in the order of enqueueing, by status and up to a limit', async (queue) => {
    for (const tool of ['a', 'b', 'c']) await queue.enqueue(task(tool));
    await queue.settle(await leased(queue), { status: 'completed', result });
    const names = async (filter?: Parameters<TaskQueue['list']>[0]) =>
      (await queue.list(filter)).map((record) => record.toolName);
    assert.deepEqual(await names(), ['a', 'b', 'c']);
    assert.deepEqual(await names({ status: 'pending' }), ['b', 'c']);
    assert.deepEqual(await names({ limit: 1 }), ['a']);
  });

  check('listeners hear of every task that may be leased, until they stop', async (queue) => {
    let heard = 0;
    const stop = queue.onPending(() => heard++);
    const settleDown = () => new Promise((resolve) => setImmediate(resolve));
    await queue.enqueue(task('a'));
    await settleDown();
    assert.ok(heard >= 1);
    const before = heard;
    await queue.release(await leased(queue));
    await settleDown();
    assert.ok(heard > before);
    stop();
    const after = heard;
    await queue.enqueue(task('b'));
    await settleDown();
    assert.equal(heard, after);
  });

  check('one task too many is refused, and what waits stays', async (queue) => {
    for (let count = 0; count < 7; count++) await queue.enqueue(task('a', { key: `k${count}` }));
    await assert.rejects(queue.enqueue(task('b')), { code: 'QueueFull' });
    assert.equal((await queue.enqueue(task('a', { key: 'k0' }))).toolName, 'a');
    assert.equal((await queue.list()).length, 7);
    await leased(queue);
    await queue.enqueue(task('b'));
  });

  check('numbers that no file keeps are cut to what there is', async (queue) => {
    for (const ttlMs of [1e18, 1e300, Infinity]) {
      const { id, ttlMs: kept } = await queue.enqueue(task('a', { ttlMs, timeoutMs: ttlMs }));
      assert.equal(kept, 7 * 86_400_000, 'it is remembered for no longer anyway');
      await queue.settle(await leased(queue), { status: 'completed', result });
      assert.deepEqual([(await queue.get(id))?.status, (await queue.get(id))?.ttlMs], ['completed', kept]);
    }
  });

  check('only so many finished tasks are remembered, the latest ones', async (queue) => {
    const ids: string[] = [];
    for (let count = 0; count < 7; count++) {
      ids.push((await queue.enqueue(task(`t${count}`))).id);
      await queue.settle(await leased(queue), { status: 'completed', result });
    }
    assert.deepEqual(
      (await queue.list()).map((record) => record.id),
      ids.slice(2),
    );
  });
}
