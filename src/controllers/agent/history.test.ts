import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  adoptEnds,
  emptyHistory,
  forSpec,
  historyFromStatus,
  isHalted,
  keepInstances,
  recordEnds,
  recordReady,
  startDelay,
} from './history.ts';

const minute = 60_000;

test('an end is counted once, however often it is seen', () => {
  const once = recordEnds(emptyHistory, { instance: 'i1', count: 1, at: 1_000 });
  assert.equal(recordEnds(once, { instance: 'i1', count: 1, at: 9_000 }), once);
  assert.equal(once.failures, 1);
  assert.equal(once.restarts, 1);
});

test('the start after the n-th end waits 1, 2, 4, 8, 16 and never more than 30 seconds', () => {
  let history = emptyHistory;
  const waits: number[] = [];
  for (let end = 1; end <= 7; end += 1) {
    history = recordEnds(history, { instance: `i${end}`, count: 1, at: 0 });
    waits.push(startDelay(history, 0));
  }
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});

test('five restarts are allowed and the end after the fifth halts', () => {
  let history = emptyHistory;
  for (let end = 1; end <= 5; end += 1)
    history = recordEnds(history, { instance: `i${end}`, count: 1, at: end });
  assert.equal(isHalted(history), false);
  assert.equal(isHalted(recordEnds(history, { instance: 'i6', count: 1, at: 6 })), true);
});

test('a minute of Ready makes the next end the first one again', () => {
  let history = emptyHistory;
  for (let end = 1; end <= 5; end += 1)
    history = recordEnds(history, { instance: `i${end}`, count: 1, at: end });
  history = recordEnds(recordReady(history, ['i6'], 10), { instance: 'i6', count: 1, at: 10 + minute });
  assert.equal(history.failures, 1);
  assert.equal(history.restarts, 6);
});

test('less than a minute of Ready does not', () => {
  let history = recordEnds(emptyHistory, { instance: 'i1', count: 1, at: 0 });
  history = recordEnds(recordReady(history, ['i2'], 10), { instance: 'i2', count: 1, at: 9 + minute });
  assert.equal(history.failures, 2);
});

test('another spec begins a new history but keeps the number of restarts', () => {
  let history = forSpec(emptyHistory, 'a');
  for (let end = 1; end <= 6; end += 1)
    history = recordEnds(history, { instance: `i${end}`, count: 1, at: end });
  const next = forSpec(history, 'b');
  assert.equal(isHalted(next), false);
  assert.equal(next.restarts, 6);
  assert.equal(
    recordEnds(next, { instance: 'i6', count: 1, at: 7 }),
    next,
    'the old instance is not counted against the new spec',
  );
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
      for (let end = 0; end < ends; end += 1)
        history = recordEnds(history, { instance: `i${end}`, count: 1, at: end });
      const delay = startDelay(history, now);
      assert.ok(delay >= 0 && delay <= 30_000 + ends);
    }),
  );
});

test('the ends of a pod’s containers are counted one by one, also when some were not seen', () => {
  let history = recordEnds(emptyHistory, { instance: 'p1', count: 2, at: 10 });
  assert.deepEqual([history.failures, history.restarts], [2, 2]);
  history = recordEnds(history, { instance: 'p1', count: 3, at: 20 });
  history = recordEnds(history, { instance: 'p2', count: 1, at: 30 });
  assert.deepEqual([history.failures, history.restarts, history.endedAt], [4, 4, 30]);
});

test('one replica that is stable does not save another that ends again and again', () => {
  let history = recordReady(emptyHistory, ['p1'], 0);
  for (let end = 1; end <= 6; end += 1) {
    history = recordEnds(history, { instance: 'p2', count: end, at: end * minute });
    history = recordReady(history, ['p1'], end * minute);
  }
  assert.equal(isHalted(history), true);
});

test('a fresh controller holds against a pod what an earlier one has counted, and counts it once', () => {
  const history = adoptEnds(historyFromStatus(3, false), { instance: 'p1', count: 3, at: 5 }, 3);
  assert.deepEqual([history.failures, history.restarts], [3, 3]);
  const next = recordEnds(history, { instance: 'p1', count: 4, at: 9 });
  assert.deepEqual([next.failures, next.restarts], [4, 4]);
});

test('instances that were replaced are forgotten, so that the history stays small', () => {
  let history = recordEnds(emptyHistory, { instance: 'p1', count: 1, at: 1 });
  assert.equal(keepInstances(history, []), history);
  history = keepInstances(recordEnds(history, { instance: 'p2', count: 1, at: 2 }), ['p2']);
  assert.deepEqual(history.counted, { p2: 1 });
});

test('six replicas that end once each are no crash loop; one that ends six times is', () => {
  let history = emptyHistory;
  for (let slot = 0; slot < 6; slot += 1) {
    history = recordEnds(history, { instance: `p${slot}`, slot, count: 1, at: slot });
  }
  assert.deepEqual([isHalted(history), history.failures, history.restarts], [false, 1, 6]);
  history = recordEnds(history, { instance: 'p3', slot: 3, count: 6, at: 9 });
  assert.equal(isHalted(history), true);
});
