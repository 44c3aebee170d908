import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { BenchScope, checkout } from '../test/bench/harness/scope.ts';
import { fullSoak, soakBench } from '../test/bench/soak.ts';

// Whether router and agent-server are after many sessions what they were before: `soak.ts [--sessions N] [--calls N]
// [--live N] [--out DIR]`. Results go to .out/bench/soak.json too. Exits with 1 when it broke; a missed goal is a
// result, not a failure.

const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: `${fullSoak.sessions}` },
    calls: { type: 'string', default: `${fullSoak.calls}` },
    live: { type: 'string', default: `${fullSoak.live}` },
    out: { type: 'string', default: join(checkout, '.out/bench') },
  },
});

function whole(name: 'sessions' | 'calls' | 'live'): number {
  const value = Number(values[name]);
  if (Number.isInteger(value) && value > 0) return value;
  console.error(`--${name} must be a whole number above 0, not ${values[name]}`);
  process.exit(2);
}

const order = { ...fullSoak, sessions: whole('sessions'), calls: whole('calls'), live: whole('live') };
const scope = new BenchScope();
const interrupted = Promise.withResolvers<never>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => interrupted.reject(new Error('interrupted')));
}
const code = await runBenches([soakBench(order)], values.out, async (bench) => {
  try {
    return await Promise.race([bench.run(scope), interrupted.promise]);
  } catch (error) {
    console.error(scope.transcript());
    throw error;
  } finally {
    await scope.end();
  }
});
process.exit(code);
