import { test } from 'node:test';
import { bwrapAvailability, bwrapDriver } from '#test/fixtures/driver-host.ts';
import { realDriver } from './real.ts';
import { testDriverContract } from './suite.ts';

const availability = await bwrapAvailability();
if (availability.ok) testDriverContract('bwrap', async () => realDriver(bwrapDriver));
else test('the bwrap driver keeps the driver contract', { skip: availability.reason });
