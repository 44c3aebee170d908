import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  emptyHistory,
  forSpec,
  historyFromStatus,
  isHalted,
  recordEnd,
  recordReady,
  startDelay,
} from './history.ts';

const minute = 60_000;

test('an end is counted once, however often it is seen', () => {
  const once = recordEnd(emptyHistory, 'i1', 1_000);
  assert.equal(recordEnd(once, 'i1', 9_000), once);
  assert.equal(once.failures, 1);
  assert.equal(once.restarts, 1);
});

test('the start after the n-th end waits 1, 2, 4, 8, 16 and never more than 30 seconds', () => {
  let history = emptyHistory;
  const waits: number[] = [];
  for (let end = 1; end <= 7; end += 1) {
    history = recordEnd(history, `i${end}`, 0);
    waits.push(startDelay(history, 0));
  }
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});

test('five restarts are allowed and the end after the fifth halts', () => {
  let history = emptyHistory;
  for (let end = 1; end <= 5; end += 1) history = recordEnd(history, `i${end}`, end);
  assert.equal(isHalted(history), false);
  assert.equal(isHalted(recordEnd(history, 'i6', 6)), true);
});

test('a minute of Ready makes the next end the first one again', () => {
  let history = emptyHistory;
  for (let end = 1; end <= 5; end += 1) history = recordEnd(history, `i${end}`, end);
  history = recordEnd(recordReady(history, 'i6', 10), 'i6', 10 + minute);
  assert.equal(history.failures, 1);
  assert.equal(history.restarts, 6);
});

test('less than a minute of Ready does not', () => {
  let history = recordEnd(emptyHistory, 'i1', 0);
  history = recordEnd(recordReady(history, 'i2', 10), 'i2', 9 + minute);
  assert.equal(history.failures, 2);
});

test('another spec begins a new history but keeps the number of restarts', () => {
  let history = forSpec(emptyHistory, 'a');
  for (let end = 1; end <= 6; end += 1) history = recordEnd(history, `i${end}`, end);
  const next = forSpec(history, 'b');
  assert.equal(isHalted(next), false);
  assert.equal(next.restarts, 6);
  assert.equal(recordEnd(next, 'i6', 7), next, 'the old instance is not counted against the new spec');
});

test('a halted Agent stays halted for a controller that has just started', () => {
  const history = forSpec(historyFromStatus(6, true), 'a');
  assert.equal(isHalted(history), true);
  assert.equal(isHalted(forSpec(history, 'b')), false);
});

test('the delay is never negative and never above the maximum', () => {
  fc.assert(
    fc.property(fc.nat(50), fc.nat(1_000_000), (ends, now) => {
      let history = emptyHistory;
      for (let end = 0; end < ends; end += 1) history = recordEnd(history, `i${end}`, end);
      const delay = startDelay(history, now);
      assert.ok(delay >= 0 && delay <= 30_000 + ends);
    }),
  );
});
