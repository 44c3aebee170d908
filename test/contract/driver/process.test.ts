import { processDriver } from '#test/fixtures/driver-host.ts';
import { realDriver } from './real.ts';
import { testDriverContract } from './suite.ts';

testDriverContract('process', async () => realDriver(processDriver));
