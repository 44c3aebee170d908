import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gatewayApis } from '../test/bench/gateway/apis.ts';
import { gatewayBoot } from '../test/bench/gateway/boot.ts';
import { gatewayCalls } from '../test/bench/gateway/calls.ts';
import { gatewayFanOut } from '../test/bench/gateway/fan-out.ts';
import { type Bench, type BenchResult, CannotRun } from '../test/bench/harness/bench.ts';
import { chooseBenches } from '../test/bench/harness/choose-benches.ts';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { BenchScope, checkout } from '../test/bench/harness/scope.ts';

// The router beside other gateways: `bench-gateway.ts [NAME…] [--out DIR] [--profile]`. Results go to
// .out/bench-gateway/<name>.json too. A peer that is not there is built once into the user's cache, or named and
// skipped. Exits with 1 when a bench broke; a missed goal is a result, not a failure.

const benches: readonly Bench[] = [gatewayCalls, gatewayFanOut, gatewayApis, gatewayBoot];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string' }, profile: { type: 'boolean', default: false } },
});
const folder = values.out ?? join(checkout, '.out/bench-gateway');
const chosen = chooseBenches(benches, positionals);

async function measure(bench: Bench): Promise<BenchResult> {
  const scope = new BenchScope(values.profile ? join(folder, 'profiles', bench.name) : undefined);
  const interrupted = Promise.withResolvers<never>();
  const stop = () => interrupted.reject(new Error('interrupted'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  try {
    return await Promise.race([bench.run(scope), interrupted.promise]);
  } catch (error) {
    if (!(error instanceof CannotRun)) {
      console.error(scope.transcript());
      throw error;
    }
    const value = { skipped: error.message };
    const goals = bench.goals.map((name) => ({ name, op: '>=', target: 0, unit: '', value }) as const);
    return { tables: [], goals, samples: null, notes: [`skipped: ${error.message}`] };
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, stop);
    await scope.end();
  }
}

process.exit(await runBenches(chosen, folder, measure));
