import { type Bench, type BenchResult, CannotRun } from './bench.ts';
import { BenchScope } from './scope.ts';

/** Runs one bench in a scope of its own, until it is done or somebody interrupts it. What it started ends with it. */
export async function measureBench(bench: Bench): Promise<BenchResult> {
  const scope = new BenchScope();
  const interrupted = Promise.withResolvers<never>();
  const stop = () => interrupted.reject(new Error('interrupted'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    return await Promise.race([bench.run(scope), interrupted.promise]);
  } catch (error) {
    if (error instanceof CannotRun) return skipped(bench, error.message);
    console.error(scope.transcript());
    throw error;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
    await scope.end();
  }
}

function skipped(bench: Bench, why: string): BenchResult {
  const goals = bench.goals.map((name) => {
    return { name, op: '>=', target: 0, unit: '', value: { skipped: why } } as const;
  });
  return { tables: [], goals, samples: null, notes: [`skipped: ${why}`] };
}
