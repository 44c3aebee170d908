import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPartBudget } from './part-budget.ts';

function stand() {
  const timers = new Set<() => void>();
  const after = (_: number, callback: () => void) => {
    timers.add(callback);
    return () => timers.delete(callback);
  };
  const budget = createPartBudget({ bytes: 100, clock: { after }, waitMs: 1000 });
  const begun: number[] = [];
  const hold = async (bytes: number) => {
    const giveBack = await budget.hold(bytes);
    begun.push(bytes);
    return giveBack;
  };
  const later = () => new Promise((resolve) => setImmediate(resolve));
  return { hold, begun, later, timers };
}

test('uploads hold no more memory together than there is; the next begins when one has ended', async () => {
  const { hold, begun, later, timers } = stand();
  const [first, second] = [await hold(60), await hold(30)];
  const others = [hold(50), hold(10), hold(20)];
  await later();
  assert.deepEqual(begun, [60, 30, 10]);
  second();
  second();
  await later();
  assert.deepEqual(begun, [60, 30, 10, 20]);
  first();
  await Promise.all(others);
  assert.deepEqual(begun, [60, 30, 10, 20, 50]);
  assert.equal(timers.size, 0);
});

test('one that would need more than there is has all of it, alone', async () => {
  const { hold, begun, later } = stand();
  const giveBack = await hold(500);
  void hold(1);
  await later();
  assert.deepEqual(begun, [500]);
  giveBack();
  await later();
  assert.deepEqual(begun, [500, 1]);
});

test('who waits too long is told to come again, and holds nothing', async () => {
  const { hold, begun, later, timers } = stand();
  const giveBack = await hold(100);
  const waits = assert.rejects(hold(10), { code: 'Busy' });
  for (const late of timers) late();
  await waits;
  giveBack();
  await later();
  await hold(100);
  assert.deepEqual(begun, [100, 100]);
});
