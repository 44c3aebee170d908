import { json } from 'node:stream/consumers';
import type { Agent } from '#api/agent.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { startRouter } from '#router/start.ts';
import { editableTables } from '#router/testing/harness.ts';
import { masterKey } from '#wire/testing.ts';

// A router as a process of its own, so that a test can kill it. Takes `{agents, master}` on standard input: the Agent
// objects and the number of the test's master key; says its port on standard output.

const { agents, master } = (await json(process.stdin)) as { agents: Agent[]; master: number };
const masters = [masterKey(master)];
const { port } = await startRouter(
  {
    tables: editableTables(agents),
    keys: { current: () => masters },
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    version: '0.0.0',
  },
  { public: { host: '127.0.0.1', port: 0 } },
);
process.stdout.write(`${port}\n`);
