import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { commandTool } from '../test/bench/command-tool.ts';
import type { Bench } from '../test/bench/harness/bench.ts';
import { chooseBenches } from '../test/bench/harness/choose-benches.ts';
import { measureBench } from '../test/bench/harness/measure.ts';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { checkout } from '../test/bench/harness/scope.ts';
import { nodeTool } from '../test/bench/node-tool.ts';
import { sandboxStart } from '../test/bench/sandbox-start.ts';
import { taskEnqueue } from '../test/bench/tasks/enqueue.ts';
import { taskRecovery } from '../test/bench/tasks/recovery.ts';
import { sandboxedNode } from '../test/bench/tasks/sandboxed-node.ts';
import { taskStart } from '../test/bench/tasks/start.ts';

// Queued tasks, and the processes that carry tools out: `bench-tasks.ts [NAME…] [--out DIR]`. Results go to
// .out/bench-tasks/<name>.json too. Exits with 1 when a bench broke; a missed goal is a result, not a failure.

const benches: readonly Bench[] = [
  taskEnqueue,
  taskStart,
  taskRecovery,
  commandTool,
  nodeTool,
  sandboxStart,
  sandboxedNode,
];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { out: { type: 'string', default: join(checkout, '.out/bench-tasks') } },
});
const chosen = chooseBenches(benches, positionals);
process.exit(await runBenches(chosen, values.out, measureBench));
