import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Bench } from '../test/bench/harness/bench.ts';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { BenchScope, checkout } from '../test/bench/harness/scope.ts';
import { hostile } from '../test/bench/hostile.ts';

// Attacks the router, measures what it costs and whether it was refused: `hostile.ts [--out DIR]`. Figures go to
// .out/bench/hostile.json too. Exits with 1 when an attack was not refused; a missed figure is a result.

const { values } = parseArgs({ options: { out: { type: 'string' } } });
const folder = values.out ?? join(checkout, '.out/bench');

async function measure(bench: Bench) {
  const scope = new BenchScope();
  const interrupted = Promise.withResolvers<never>();
  const stop = () => interrupted.reject(new Error('interrupted'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    const result = await Promise.race([bench.run(scope), interrupted.promise]);
    const [failed] = result.goals;
    if (failed?.value !== 0) process.exitCode = 1;
    return result;
  } catch (error) {
    console.error(scope.transcript());
    throw error;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
    await scope.end();
  }
}

const code = await runBenches([hostile], folder, measure);
process.exit(code === 0 ? process.exitCode : code);
