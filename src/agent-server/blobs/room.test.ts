import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUsage, readBlobLimits } from './limits.ts';
import { openRoom } from './room.ts';

test('what a client says it has must find a place, and holds none until it comes', () => {
  const limits = readBlobLimits({ maxBytes: 100, maxBlobBytes: 80 });
  const usage = createUsage(limits);
  assert.throws(() => openRoom(usage, limits, 81), { code: 'TooLarge' });
  const slow = openRoom(usage, limits, 80);
  assert.equal(usage.bytes, 0);
  const other = openRoom(usage, limits, 80);
  other.take(60);
  other.settle(60);
  assert.equal(usage.bytes, 60);
  assert.throws(() => openRoom(usage, limits, 41), { code: 'QuotaExceeded' });
  slow.take(40);
  assert.throws(() => slow.take(1), { code: 'QuotaExceeded' });
  slow.giveBack();
  assert.deepEqual([usage.bytes, usage.blobs], [60, 1]);
});
