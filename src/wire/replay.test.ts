import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { createReplayWindow } from './replay.ts';
import { manualClock } from './testing.ts';

test('no id is fresh twice while its token can be accepted, also when the wall clock leaps ahead and back', () => {
  const step = fc.record({ id: fc.nat(30), advance: fc.nat(40_000), ttl: fc.nat(120_000) });
  const runs = fc.record({
    before: fc.array(step),
    during: fc.array(step),
    after: fc.array(step),
    leap: fc.nat(3_600_000),
  });
  fc.assert(
    fc.property(runs, ({ before, during, after, leap }) => {
      const clock = manualClock();
      const replay = createReplayWindow({ clock });
      const seen = new Map<number, number>();
      const claim = (next: { id: number; advance: number; ttl: number }) => {
        clock.advance(next.advance);
        const id = Buffer.alloc(16);
        id.writeUInt32LE(next.id, (next.id % 4) * 4);
        const expiry = seen.get(next.id) ?? clock.now() + next.ttl;
        if (clock.now() >= expiry + 30_000) return;
        assert.equal(replay.claim(id, expiry), seen.has(next.id) ? 'replayed' : 'fresh');
        seen.set(next.id, expiry);
      };
      before.forEach(claim);
      clock.jump(leap);
      during.forEach(claim);
      clock.jump(-leap);
      const usedAhead = new Set(during.map((next) => next.id));
      after.filter((next) => !usedAhead.has(next.id)).forEach(claim);
    }),
    { numRuns: 300 },
  );
});

test('ids of dead tokens are forgotten', () => {
  const clock = manualClock();
  const replay = createReplayWindow({ clock });
  for (let second = 0; second < 1000; second += 1) {
    clock.advance(1000);
    for (let call = 0; call < 10; call += 1) replay.claim(randomBytes(16), clock.now() + 60_000);
  }
  assert.ok(replay.size <= 10 * 200, `${replay.size} ids are kept of calls of the last 180 s`);
});

test('a full window refuses instead of forgetting', () => {
  const clock = manualClock();
  const replay = createReplayWindow({ clock, capacity: 100 });
  for (let call = 0; call < 100; call += 1)
    assert.equal(replay.claim(randomBytes(16), clock.now() + 60_000), 'fresh');
  assert.equal(replay.claim(randomBytes(16), clock.now() + 60_000), 'full');
});

test('an id costs at most 96 bytes', { timeout: 60_000 }, () => {
  const clock = manualClock();
  const replay = createReplayWindow({ clock });
  const before = process.memoryUsage();
  const ids = 300_000;
  for (let call = 0; call < ids; call += 1) replay.claim(randomBytes(16), clock.now() + 60_000);
  const grown = process.memoryUsage().arrayBuffers - before.arrayBuffers;
  assert.equal(replay.size, ids);
  assert.ok(grown / ids < 96, `${Math.round(grown / ids)} bytes an id`);
});
