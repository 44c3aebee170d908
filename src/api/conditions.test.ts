import assert from 'node:assert/strict';
import { it } from 'node:test';
import { findCondition, setCondition } from './conditions.ts';

const then = new Date('2026-01-01T00:00:00.123Z');
const later = new Date('2026-01-01T00:01:00.999Z');
const starting = {
  type: 'Ready',
  status: 'False',
  reason: 'Starting',
  message: 'Wait.',
  observedGeneration: 1,
} as const;

it('adds a condition with the time in whole seconds', () => {
  assert.deepEqual(setCondition([], starting, then), [
    { ...starting, lastTransitionTime: '2026-01-01T00:00:00Z' },
  ]);
});

it('returns the same array when the condition says the same', () => {
  const conditions = setCondition([], starting, then);
  assert.equal(setCondition(conditions, { ...starting }, later), conditions);
});

it('keeps the time of transition while the status stays, and moves it when the status changes', () => {
  const conditions = setCondition([], starting, then);
  const [installing] = setCondition(conditions, { ...starting, reason: 'Installing' }, later);
  assert.deepEqual(
    [installing?.reason, installing?.lastTransitionTime],
    ['Installing', '2026-01-01T00:00:00Z'],
  );
  const [ready] = setCondition(conditions, { ...starting, status: 'True' }, later);
  assert.equal(ready?.lastTransitionTime, '2026-01-01T00:01:00Z');
});

it('replaces in place, touches no other condition and does not change its argument', () => {
  const before = setCondition(setCondition([], starting, then), { ...starting, type: 'Degraded' }, then);
  const copy = structuredClone(before);
  const after = setCondition(before, { ...starting, status: 'True' }, later);
  assert.deepEqual(before, copy);
  assert.deepEqual(
    after.map(({ type }) => type),
    ['Ready', 'Degraded'],
  );
  assert.equal(after[1], before[1]);
  assert.equal(findCondition(after, 'Degraded'), before[1]);
});

it('sees a change of observedGeneration as a change', () => {
  const before = setCondition([], starting, then);
  const after = setCondition(before, { ...starting, observedGeneration: 2 }, later);
  assert.notEqual(after, before);
  assert.equal(after[0]?.lastTransitionTime, '2026-01-01T00:00:00Z');
});

it('cuts a message to what the API server takes, and then still sees that it says the same', () => {
  const long = { ...starting, message: 'x'.repeat(40_000) };
  const conditions = setCondition([], long, then);
  assert.equal(conditions[0]?.message.length, 32_768);
  assert.equal(setCondition(conditions, long, later), conditions);
});
