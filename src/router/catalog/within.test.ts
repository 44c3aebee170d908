import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { partsWithin } from './within.ts';

test('a part that rejects counts as late at once; the others are still waited for', async () => {
  const clock = createFakeClock();
  const slow = Promise.withResolvers<string>();
  const asked = [
    { part: Promise.reject(new Error('broken')), late: () => 'late' },
    { part: slow.promise, late: () => 'late too' },
  ];
  const parts = partsWithin(asked, 1_000, clock);
  await clock.advance(500);
  slow.resolve('there');
  await clock.advance(0);
  assert.equal(clock.pending, 0, 'nothing is waited for any more');
  assert.deepEqual(await parts, ['late', 'there']);
});
