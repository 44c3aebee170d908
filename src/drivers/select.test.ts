import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryDriver } from '#test/fixtures/memory-driver.ts';
import type { Availability, Driver } from './driver.ts';
import { selectDriver } from './select.ts';

function driver(name: Driver['name'], availability: Availability): Driver {
  const inner: Driver = new MemoryDriver();
  return Object.assign(Object.create(inner) as Driver, { name, available: async () => availability });
}
const works: Availability = { ok: true, detail: '' };
const missing: Availability = {
  ok: false,
  reason: 'bwrap is not installed',
  remedy: 'apt-get install bubblewrap',
};

describe('selectDriver', () => {
  it('takes the driver of the class', async () => {
    const drivers = [driver('bwrap', works), driver('process', works)];
    const selection = await selectDriver('Process', drivers);
    assert.equal(selection.ok && selection.driver.name, 'process');
  });
  it('never falls back to running without a sandbox', async () => {
    const selection = await selectDriver('Auto', [driver('bwrap', missing), driver('process', works)]);
    assert.deepEqual(selection, {
      ok: false,
      reason: 'bwrap: bwrap is not installed',
      remedy: 'apt-get install bubblewrap',
    });
  });
  it('takes for Auto the first sandbox that works', async () => {
    const selection = await selectDriver('Auto', [driver('container', works), driver('bwrap', missing)]);
    assert.equal(selection.ok && selection.driver.name, 'container');
  });
  it('says that a class is not there at all', async () => {
    const selection = await selectDriver('Seatbelt', [driver('bwrap', works)]);
    assert.match(selection.ok ? '' : selection.reason, /Seatbelt is not available/);
  });
});
