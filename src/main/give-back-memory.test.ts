import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { getHeapStatistics } from 'node:v8';
import { silentLog } from '#kit/log.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { giveBackMemory } from './give-back-memory.ts';

const mebibyte = 1_048_576;
const held = () => getHeapStatistics().total_physical_size;

/** What a burst leaves: many pages, each with a little that is still in use. */
function burst(): object[] {
  const all = Array.from({ length: 200_000 }, (_, index) => ({
    index,
    text: `object ${index}`,
    list: [index],
  }));
  return all.filter((_, index) => index % 100 === 0);
}

describe('giving memory back', () => {
  it('happens once the process is quiet, and not while it is busy', async () => {
    const clock = createFakeClock();
    const common = { clock, log: silentLog, everyMs: 1_000, worthBytes: mebibyte };
    const stopBusy = giveBackMemory({ ...common, quietShare: -1 });
    const kept = burst();
    const full = held();
    await clock.advance(5_000);
    stopBusy();
    assert.ok(held() > full - 4 * mebibyte);
    const stop = giveBackMemory({ ...common, quietShare: 1_000, worthBytes: -1e12 });
    await clock.advance(1_000);
    stop();
    assert.ok(held() < full - 4 * mebibyte, `${full} → ${held()}`);
    assert.equal(kept.length, 2_000);
  });

  it('happens after a minute in a process that is never quiet', async () => {
    const clock = createFakeClock();
    const stop = giveBackMemory({ clock, log: silentLog, quietShare: -1, worthBytes: -1e12 });
    const kept = burst();
    const full = held();
    await clock.advance(59_000);
    assert.ok(held() > full - 4 * mebibyte);
    await clock.advance(2_000);
    stop();
    assert.ok(held() < full - 4 * mebibyte, `${full} → ${held()}`);
    assert.equal(kept.length, 2_000);
  });
});
