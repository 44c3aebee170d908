import assert from 'node:assert/strict';
import type { NewTask, TaskChange } from '#agent-server/queue/queue.ts';
import { type Check, done, leased, task } from './checks.ts';

/** What is leased when, and what is told of it. */
export function orderContract(check: Check): void {
  check('the more urgent is leased first, and else the older', async (queue) => {
    const priorities: Partial<Record<string, NewTask['priority']>> = { a: 0, c: 3, e: 2, f: 3 };
    for (const tool of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const priority = priorities[tool];
      await queue.enqueue(task(tool, priority === undefined ? {} : { priority }));
    }
    const order: string[] = [];
    for (let count = 0; count < 6; count++) order.push((await leased(queue)).task.toolName);
    assert.deepEqual(order, ['c', 'f', 'e', 'b', 'd', 'a']);
  });

  check('tasks of tools that are busy are left for later', async (queue) => {
    for (const tool of ['a', 'a', 'b']) await queue.enqueue(task(tool));
    assert.equal((await queue.lease(['a']))?.task.toolName, 'b');
    assert.equal(await queue.lease(['a', 'b']), undefined);
    assert.equal((await queue.lease(['b']))?.task.toolName, 'a');
  });

  check('a call that runs already becomes a task that is held, and is not leased', async (queue) => {
    const lease = await queue.begin(task('long', { owner: 'u', timeoutMs: 9 }), 1_700_000_000_000);
    assert.equal(await queue.lease(), undefined);
    const { status, attempt, owner, startedAt, timeoutMs } = lease.task;
    assert.deepEqual(
      [status, attempt, owner, startedAt, timeoutMs],
      ['running', 1, 'u', '2023-11-14T22:13:20.000Z', 9],
    );
    assert.deepEqual(await queue.get(lease.task.id), lease.task);
    queue.progress(lease, Buffer.from('from before'));
    assert.equal(await queue.settle(lease, done), true);
    const record = await queue.get(lease.task.id);
    assert.deepEqual([record?.status, record?.logTail], ['completed', 'from before']);
  });

  check('progress is what was reported last, while it runs and after it', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    const lease = await leased(queue);
    assert.equal((await queue.get(id))?.progress, null);
    queue.report(lease, { progress: 1, total: 4 });
    queue.report(lease, { progress: 2, total: 4, message: 'half' });
    assert.deepEqual((await queue.get(id))?.progress, { progress: 2, total: 4, message: 'half' });
    await queue.settle(lease, done);
    queue.report(lease, { progress: 9 });
    assert.deepEqual((await queue.get(id))?.progress, { progress: 2, total: 4, message: 'half' });
  });

  check(
    'one without a key can be given one, once, and is told of and found by it from then on',
    async (queue) => {
      const { id } = await queue.enqueue(task('a', { owner: 'u' }));
      const { id: other } = await queue.enqueue(task('b', { key: 'taken' }));
      assert.equal((await queue.adopt(id, 'k'))?.key, 'k');
      assert.equal((await queue.adopt(id, 'k'))?.id, id);
      for (const [asked, key] of [
        [id, 'another'],
        [other, 'k'],
        ['0000000000000000', 'new'],
      ] as const)
        assert.equal(await queue.adopt(asked, key), undefined);
      const keys: unknown[] = [];
      queue.onChange(({ id: changed, key }) => changed === id && keys.push(key));
      await queue.settle(await leased(queue), done);
      assert.deepEqual(keys, ['k', 'k']);
      const { status, owner } = (await queue.getByKey('k')) ?? {};
      assert.deepEqual([status, owner], ['completed', 'u']);
      const { id: late } = await queue.enqueue(task('c'));
      await queue.cancel(late);
      assert.equal((await queue.adopt(late, 'late'))?.status, 'cancelled');
      assert.deepEqual(queue.counts().finished, { completed: 1, failed: 0, cancelled: 1 });
    },
  );

  check('every change of status is told once, and every report', async (queue) => {
    const told: string[] = [];
    const note = (change: TaskChange) => {
      const { toolName, status, attempt, progress, key, owner, reason } = change;
      told.push([toolName, status, attempt, progress?.progress, key, owner].join(' '));
      assert.equal(Number.isNaN(Date.parse(change.createdAt)), false);
      assert.equal(change.startedAt === null, attempt === 0);
      assert.equal(change.finishedAt !== null, status === 'failed' || status === 'cancelled');
      assert.equal(reason, { failed: 'Failed', cancelled: 'Cancelled' }[String(status)] ?? null);
    };
    const stop = queue.onChange(note);
    await queue.enqueue(task('a', { key: 'k', owner: 'u' }));
    await queue.enqueue(task('a', { key: 'k' }));
    const lease = await leased(queue);
    queue.report(lease, { progress: 5 });
    await queue.settle(lease, { status: 'failed', error: 'broken' });
    await queue.cancel((await queue.enqueue(task('b'))).id);
    stop();
    await queue.enqueue(task('c'));
    assert.deepEqual(told, [
      'a pending 0  k u',
      'a running 1  k u',
      'a running 1 5 k u',
      'a failed 1 5 k u',
      'b pending 0   ',
      'b cancelled 0   ',
    ]);
  });

  check('all are counted by what they are', async (queue) => {
    const none = { pending: 0, running: 0, inputRequired: 0 };
    const finished = { completed: 0, failed: 0, cancelled: 0 };
    assert.deepEqual(queue.counts(), { ...none, finished });
    for (const tool of ['a', 'b', 'c', 'd', 'e', 'f']) await queue.enqueue(task(tool));
    await queue.settle(await leased(queue), done);
    await queue.settle(await leased(queue), { status: 'failed', error: 'broken' });
    await queue.settle(await leased(queue), { status: 'input_required', requests: { q: {} }, state: null });
    await leased(queue);
    await queue.cancel((await queue.list({ status: 'pending' }))[0]?.id ?? '');
    assert.deepEqual(queue.counts(), {
      ...{ pending: 1, running: 1, inputRequired: 1 },
      finished: { completed: 1, failed: 1, cancelled: 1 },
    });
  });

  check('what is known of an end is on the record', async (queue) => {
    const ends = [
      { ...done, exitCode: 0 },
      { status: 'failed', error: 'exit 3', exitCode: 3 },
      { status: 'failed', error: 'too long', reason: 'TimedOut' },
      { status: 'failed', error: 'no', rpcError: { code: -32_602, message: 'no', data: { a: 1 } } },
      { status: 'cancelled' },
    ] as const;
    for (const end of ends) {
      await queue.enqueue(task('a'));
      await queue.settle(await leased(queue), end);
    }
    const records = await Promise.all((await queue.list()).map(({ id }) => queue.get(id)));
    assert.deepEqual(
      records.map((record) => [record?.reason, record?.exitCode, record?.error, record?.rpcError]),
      [
        [null, 0, null, null],
        ['Failed', 3, 'exit 3', null],
        ['TimedOut', null, 'too long', null],
        ['Failed', null, 'no', { code: -32_602, message: 'no', data: { a: 1 } }],
        ['Cancelled', null, null, null],
      ],
    );
    for (const record of records) {
      assert.ok(record?.startedAt !== null && record?.finishedAt !== null);
    }
  });

  check('lists are of an owner, of those after another, and without what may be long', async (queue) => {
    const first = await queue.enqueue(task('a', { owner: 'u' }));
    await queue.enqueue(task('b', { owner: 'v' }));
    await queue.enqueue(task('c', { owner: 'u' }));
    await queue.settle(await leased(queue), done);
    const names = async (filter: Parameters<typeof queue.list>[0]) =>
      (await queue.list(filter)).map(({ toolName }) => toolName);
    assert.deepEqual(await names({ owner: 'u' }), ['a', 'c']);
    assert.deepEqual(await names({ owner: 'u', status: 'pending' }), ['c']);
    assert.deepEqual(await names({ after: first.id }), ['b', 'c']);
    assert.deepEqual(await names({ after: '0'.repeat(16) }), []);
    const [listed] = await queue.list({ limit: 1 });
    assert.deepEqual([listed?.payload, listed?.result, listed?.logTail], [{}, null, '']);
    await queue.enqueue(task('d', { payload: { instance: 'i', input: { long: 'x' } } }));
    assert.deepEqual((await queue.list()).at(-1)?.payload, { instance: 'i' });
  });

  check('a task is found by its key', async (queue) => {
    const { id } = await queue.enqueue(task('a', { key: 'k' }));
    assert.equal((await queue.getByKey('k'))?.id, id);
    assert.equal(await queue.getByKey('other'), undefined);
  });

  check('after drain nothing is leased, and what is held goes on', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    await queue.enqueue(task('b'));
    const lease = await leased(queue);
    queue.drain();
    assert.equal(await queue.lease(), undefined);
    assert.equal(await queue.settle(lease, done), true);
    assert.equal((await queue.get(id))?.status, 'completed');
  });
}
