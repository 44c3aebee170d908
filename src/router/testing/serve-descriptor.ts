import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { startRouter } from '../start.ts';
import { editableTables } from './harness.ts';

/** A router of its own process on descriptor 3, for the test of inherited sockets; ends with its standard input. */
const router = await startRouter(
  {
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    version: '0',
    tables: editableTables(),
    keys: { current: () => [] },
  },
  { public: { fd: 3 } },
);
process.stdout.write(`${router.port}\n`);
process.stdin.on('end', () => router.close());
process.stdin.resume();
