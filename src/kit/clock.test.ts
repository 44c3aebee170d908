import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { systemClock } from './clock.ts';

const day = 86_400_000;
/** Milliseconds that one timer of the machine can take. */
const most = 2 ** 31 - 1;

/** Timers of the test's own, advanced by hand. */
function holdTime(t: { after(fn: () => void): void }) {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  return mock.timers;
}

test('a timer of a month waits for a month', (t) => {
  const timers = holdTime(t);
  let calls = 0;
  systemClock.after(30 * day, () => calls++);
  timers.tick(1);
  assert.equal(calls, 0);
  timers.tick(most - 1);
  timers.tick(30 * day - most - 1);
  assert.equal(calls, 0);
  timers.tick(1);
  assert.equal(calls, 1);
  timers.tick(60 * day);
  assert.equal(calls, 1);
});

test('a long timer can be cancelled in each of its parts', (t) => {
  const timers = holdTime(t);
  let calls = 0;
  const first = systemClock.after(30 * day, () => calls++);
  const second = systemClock.after(30 * day, () => calls++);
  first();
  timers.tick(most);
  second();
  timers.tick(60 * day);
  assert.equal(calls, 0);
});

test('no timer of the machine is longer than it can be', async (t) => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error) => warnings.push(name);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  let calls = 0;
  const cancels = [30 * day, 1000 * day, Infinity].map((ms) => systemClock.after(ms, () => calls++));
  await systemClock.sleep(30);
  for (const cancel of cancels) cancel();
  assert.deepEqual([calls, warnings], [0, []]);
});
