import assert from 'node:assert/strict';
import { it } from 'node:test';
import { noticesOf } from './notices.ts';
import { podFacts } from './testing.ts';

it('a pod is due when its end was told long enough ago, and is looked at again when the timer came early', () => {
  const retiring = new Map<string, number>();
  const pods = [podFacts({ uid: 'a' })];
  assert.deepEqual(noticesOf(retiring, pods, 1_000, 500), { due: [], waiting: [{ uid: 'a', ms: 500 }] });
  assert.deepEqual(noticesOf(retiring, pods, 1_499.5, 500), { due: [], waiting: [{ uid: 'a', ms: 0.5 }] });
  assert.deepEqual(noticesOf(retiring, pods, 1_500, 500), { due: pods, waiting: [] });
  assert.deepEqual([...retiring], [['a', 1_000]]);
});
