import assert from 'node:assert/strict';
import { type Check, done, leased, task } from './checks.ts';

const ask = (keys: readonly string[], state: string | null = null) =>
  ({
    status: 'input_required',
    requests: Object.fromEntries(keys.map((key) => [key, { method: 'elicitation/create' }])),
    state,
  }) as const;

/** Tasks that ask something and run again with the answers. */
export function questionContract(check: Check): void {
  check('a task that asks is not over, and its place is free', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    const lease = await leased(queue);
    assert.equal(await queue.settle(lease, ask(['name'], 'saved')), true);
    assert.equal(await queue.lease(), undefined);
    const record = await queue.get(id);
    assert.deepEqual(
      [record?.status, record?.inputRequests, record?.requestState, record?.finishedAt, record?.reason],
      ['input_required', { name: { method: 'elicitation/create' } }, 'saved', null, null],
    );
    assert.equal(await queue.settle(lease, done), false);
  });

  check('it runs again with all answers, before younger tasks', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    await queue.enqueue(task('b'));
    await queue.settle(await leased(queue), ask(['x', 'y'], 'saved'));
    assert.equal(await queue.answer(id, { x: 1, other: 2 }), 'partial');
    assert.deepEqual((await queue.get(id))?.inputResponses, { x: 1 });
    assert.equal(await queue.answer(id, { x: 'again', y: { action: 'accept' } }), 'answered');
    const { task: again } = await leased(queue);
    assert.deepEqual(
      [again.id, again.attempt, again.inputRequests, again.inputResponses, again.requestState],
      [id, 2, null, { x: 1, y: { action: 'accept' } }, 'saved'],
    );
  });

  check('whoever asks twice gets the second answers only', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    await queue.settle(await leased(queue), ask(['x'], 'first'));
    await queue.answer(id, { x: 1 });
    await queue.settle(await leased(queue), ask(['y'], 'second'));
    assert.deepEqual((await queue.get(id))?.inputResponses, null);
    await queue.answer(id, { x: 3, y: 2 });
    const lease = await leased(queue);
    assert.deepEqual([lease.task.inputResponses, lease.task.requestState], [{ y: 2 }, 'second']);
    await queue.settle(lease, done);
    const record = await queue.get(id);
    assert.deepEqual(
      [record?.status, record?.inputRequests, record?.inputResponses, record?.requestState],
      ['completed', null, null, null],
    );
  });

  check('answers to a task that asks nothing are ignored', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    assert.deepEqual(
      [await queue.answer(id, { x: 1 }), await queue.answer('0'.repeat(16), { x: 1 })],
      ['ignored', 'unknown'],
    );
    await queue.settle(await leased(queue), ask(['x']));
    await queue.answer(id, { x: 1 });
    assert.equal(await queue.answer(id, { x: 2 }), 'ignored');
  });

  check('listeners hear that an answered task may be leased, and of each step', async (queue) => {
    let heard = 0;
    const told: string[] = [];
    queue.onChange(({ status }) => told.push(status));
    const { id } = await queue.enqueue(task('a'));
    await queue.settle(await leased(queue), ask(['x']));
    queue.onPending(() => heard++);
    await queue.answer(id, { x: 1 });
    assert.equal(heard, 1);
    assert.deepEqual(told, ['pending', 'running', 'input_required', 'pending']);
  });

  check('a task that asks can be cancelled, and one that is being cancelled asks no more', async (queue) => {
    const first = await queue.enqueue(task('a'));
    await queue.settle(await leased(queue), ask(['x']));
    assert.equal(await queue.cancel(first.id), 'cancelled');
    assert.equal(await queue.answer(first.id, { x: 1 }), 'ignored');
    const second = await queue.enqueue(task('b'));
    const lease = await leased(queue);
    assert.equal(await queue.cancel(second.id), 'cancelling');
    await queue.settle(lease, ask(['x']));
    assert.deepEqual(
      [(await queue.get(first.id))?.status, (await queue.get(second.id))?.status],
      ['cancelled', 'cancelled'],
    );
  });

  check('a question without any request is a failure', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    await queue.settle(await leased(queue), ask([], 'saved'));
    const record = await queue.get(id);
    assert.deepEqual([record?.status, record?.reason], ['failed', 'Failed']);
  });

  check('the log goes on over questions', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    const first = await leased(queue);
    queue.progress(first, Buffer.from('one '));
    await queue.settle(first, ask(['x']));
    assert.equal((await queue.get(id))?.logTail, 'one ');
    await queue.answer(id, { x: 1 });
    queue.progress(await leased(queue), Buffer.from('two'));
    const record = await queue.get(id);
    assert.deepEqual([record?.logTail, record?.logSeq], ['one two', 2]);
  });

  check('those that ask are found by how long they have asked, without what they ask', async (queue) => {
    const { id } = await queue.enqueue(task('a'));
    const { updatedAt } = await queue.enqueue(task('b'));
    await queue.settle(await leased(queue), ask(['x']));
    assert.deepEqual(await queue.unanswered(Date.parse(updatedAt) - 60_000), []);
    assert.deepEqual(await queue.unanswered(Date.parse(updatedAt) + 60_000), [id]);
    const [listed] = await queue.list({ status: 'input_required' });
    assert.deepEqual([listed?.id, listed?.inputRequests], [id, null]);
    await queue.answer(id, { x: 1 });
    assert.deepEqual(await queue.unanswered(Date.parse(updatedAt) + 60_000), []);
  });

  check('of too many that wait for answers the oldest ends', async (queue) => {
    for (const tool of ['a', 'b', 'c', 'd']) {
      await queue.enqueue(task(tool));
      await queue.settle(await leased(queue), ask(['x']));
    }
    const records = await queue.list();
    assert.deepEqual(
      records.map(({ status, reason }) => [status, reason]),
      [['failed', 'TimedOut'], ...Array.from({ length: 3 }, () => ['input_required', null])],
    );
  });
}
