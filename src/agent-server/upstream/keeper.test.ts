import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createKeeper } from './keeper.ts';

/** A server whose connections all fail. */
function keepNothing() {
  const clock = createFakeClock();
  const told: string[] = [];
  const keeper = createKeeper({
    clock,
    log: silentLog,
    random: { ...systemRandom, fraction: () => 0 },
    events: { onNotification: () => undefined },
    open: () => Promise.reject(new Error('connect ECONNREFUSED')),
    prepare: () => Promise.resolve(),
    onUp: () => told.push('up'),
    onDown: (reason) => told.push(reason),
  });
  return { clock, keeper, told };
}

test('a server that is not there at first is told of when three seconds are over', async (t) => {
  const { clock, keeper, told } = keepNothing();
  t.after(() => keeper.close());
  await keeper.settled;
  await clock.advance(2_900);
  assert.deepEqual(told, []);
  await clock.advance(200);
  assert.equal(told[0], 'connect ECONNREFUSED');
});

test('nothing is left on the signal of who asked for the connection', async (t) => {
  const { clock, keeper } = keepNothing();
  t.after(() => keeper.close());
  const { signal } = new AbortController();
  const waiting = assert.rejects(keeper.get(signal), { code: 'UpstreamLost' });
  await clock.advance(60);
  await waiting;
  assert.deepEqual(getEventListeners(signal, 'abort'), []);
});
