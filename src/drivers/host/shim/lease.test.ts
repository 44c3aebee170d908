import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFakeClock, type FakeClock } from '#test/fixtures/fake-clock.ts';
import { watchLease } from './lease.ts';

describe('watchLease', () => {
  let folder: string;
  let path: string;
  let clock: FakeClock;
  let causes: string[];
  let counter = 0;
  const renew = (state = 'up') => {
    counter += 1;
    writeFileSync(path, `{"counter":${counter},"state":"${state}"}${' '.repeat(counter)}\n`);
  };
  const start = () =>
    watchLease({ path, tickMs: 1_000, staleTicks: 5 }, clock, (cause) => causes.push(cause));
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lease-'));
    path = join(folder, 'lease');
    clock = createFakeClock();
    causes = [];
    renew();
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is quiet while the lease is renewed, however slowly', async () => {
    start();
    for (let round = 0; round < 20; round += 1) {
      await clock.advance(4_000);
      renew();
    }
    assert.deepEqual(causes, []);
  });
  it('says lease, once, after enough looks without a change', async () => {
    start();
    await clock.advance(4_900);
    assert.deepEqual(causes, []);
    await clock.advance(60_000);
    assert.deepEqual(causes, ['lease']);
  });
  it('counts a missing file as one that did not change', async () => {
    start();
    rmSync(path);
    await clock.advance(5_000);
    assert.deepEqual(causes, ['lease']);
  });
  it('says down at the next look when the lease says so', async () => {
    start();
    renew('down');
    await clock.advance(1_000);
    assert.deepEqual(causes, ['down']);
  });
  it('does not mind that everything was stopped for an hour', async () => {
    start();
    await clock.advance(2_000);
    clock.freeze(3_600_000);
    clock.skew(-86_400_000);
    await clock.advance(1_000);
    assert.deepEqual(causes, []);
    renew();
    await clock.advance(4_000);
    assert.deepEqual(causes, []);
  });
  it('stops when told to', async () => {
    const stop = start();
    stop();
    await clock.advance(60_000);
    assert.deepEqual(causes, []);
  });
});
