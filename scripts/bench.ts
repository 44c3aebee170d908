import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { agentServerMcp } from '../test/bench/agent-server-mcp.ts';
import { commandTool } from '../test/bench/command-tool.ts';
import { type Bench, type BenchResult, CannotRun } from '../test/bench/harness/bench.ts';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { BenchScope, checkout } from '../test/bench/harness/scope.ts';
import { nodeTool } from '../test/bench/node-tool.ts';
import { operator, operatorAtMost } from '../test/bench/operator.ts';
import { routerCall } from '../test/bench/router-call.ts';
import { sandboxStart } from '../test/bench/sandbox-start.ts';
import { scale } from '../test/bench/scale.ts';
import { watch } from '../test/bench/watch.ts';
import { wire } from '../test/bench/wire.ts';

// Measures this machine: every bench, or those that are named. Results go to .out/bench/<name>.json too.
// --list shows them, --profile leaves CPU profiles of what is measured, --out DIR replaces .out/bench.
// Exits with 1 when a bench broke; a missed goal is a result, not a failure.

const benches: readonly Bench[] = [
  routerCall,
  agentServerMcp,
  commandTool,
  nodeTool,
  wire,
  sandboxStart,
  watch,
  scale,
  operator,
  operatorAtMost,
];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    list: { type: 'boolean', default: false },
    out: { type: 'string' },
    profile: { type: 'boolean', default: false },
  },
});
const folder = values.out ?? join(checkout, '.out/bench');

async function measure(bench: Bench): Promise<BenchResult> {
  const scope = new BenchScope(values.profile ? join(folder, 'profiles', bench.name) : undefined);
  const tooLong = Promise.withResolvers<never>();
  const { longestMs = 90_000 } = bench;
  const timer = setTimeout(() => tooLong.reject(new Error(`not done in ${longestMs / 1000} s`)), longestMs);
  const interrupted = () => tooLong.reject(new Error('interrupted'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted);
  try {
    return await Promise.race([bench.run(scope), tooLong.promise]);
  } catch (error) {
    if (error instanceof CannotRun) return skip(bench, error.message);
    console.error(scope.transcript());
    throw error;
  } finally {
    clearTimeout(timer);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted);
    await scope.end();
  }
}

function skip(bench: Bench, why: string): BenchResult {
  const goals = bench.goals.map(
    (name) => ({ name, op: '>=', target: 0, unit: '', value: { skipped: why } }) as const,
  );
  return { tables: [], goals, samples: null, notes: [`skipped: ${why}`] };
}

const unknown = positionals.filter((name) => !benches.some((bench) => bench.name === name));
if (unknown.length > 0 || values.list) {
  if (unknown.length > 0) console.error(`No such bench: ${unknown.join(', ')}`);
  for (const { name, about } of benches) console.log(`${name.padEnd(18)} ${about}`);
  process.exit(unknown.length > 0 ? 2 : 0);
}

const chosen = benches.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
process.exit(await runBenches(chosen, folder, measure));
