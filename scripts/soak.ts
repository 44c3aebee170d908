import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureBench } from '../test/bench/harness/measure.ts';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { checkout } from '../test/bench/harness/scope.ts';
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
process.exit(await runBenches([soakBench(order)], values.out, measureBench));
