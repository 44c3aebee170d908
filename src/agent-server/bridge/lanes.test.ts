import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '#test/fixtures/fake-clock.ts';
import { createLanes, type Lane } from './lanes.ts';

const signal = new AbortController().signal;

async function entered(pending: Promise<Lane>): Promise<Lane | undefined> {
  await settle();
  return Promise.race([pending, Promise.resolve(undefined)]);
}

test('one call of a kind runs; another runs when it waits for its client, or has ended', async () => {
  const full: string[] = [];
  const lanes = createLanes(2, (kind) => full.push(kind));
  const first = await lanes.enter('a', signal);
  const second = lanes.enter('a', signal);
  assert.equal(await entered(second), undefined);
  assert.equal((await lanes.enter('b', signal)).index, 0);
  first.park();
  const other = (await entered(second)) ?? assert.fail('it must run');
  assert.deepEqual([first.index, other.index], [0, 1]);
  other.park();
  const third = lanes.enter('a', signal);
  assert.equal(await entered(third), undefined);
  assert.deepEqual(full, ['a'], 'both wait for their clients');
  first.leave();
  first.leave();
  assert.equal((await entered(third))?.index, 0);
});

test('who gives up waiting is passed over', async () => {
  const lanes = createLanes(2, () => undefined);
  const first = await lanes.enter('a', signal);
  const stop = new AbortController();
  const second = lanes.enter('a', stop.signal);
  const third = lanes.enter('a', signal);
  stop.abort(new Error('gone'));
  await assert.rejects(second, /gone/);
  first.leave();
  assert.equal((await entered(third))?.index, 0);
  await assert.rejects(lanes.enter('a', stop.signal), /gone/);
});
