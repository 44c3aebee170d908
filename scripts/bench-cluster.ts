import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { agentsBench } from '#test/bench/cluster/agents-bench.ts';
import { sweep } from '#test/bench/cluster/bare-pods.ts';
import { profileBench } from '#test/bench/cluster/profile-bench.ts';
import { routesBench } from '#test/bench/cluster/routes-bench.ts';
import { openStage, type Stage } from '#test/bench/cluster/stage.ts';
import { tablesBench } from '#test/bench/cluster/tables-bench.ts';
import { startCluster } from '#test/cluster/provider.ts';
import type { Bench, BenchResult } from '../test/bench/harness/bench.ts';
import { runBenches } from '../test/bench/harness/run-benches.ts';
import { BenchScope, checkout } from '../test/bench/harness/scope.ts';

// Measures controller and routers on a real Kubernetes with simulated nodes: a cluster of its own, which is taken
// down afterwards unless it was up. Results go to .out/bench/<name>.json too, profiles beside them.
// Names select benches. Exits with 1 when a bench broke; a missed goal is a result, not a failure.

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Sizes, each a bench. With 5000, too, all benches together take more than ten minutes: --agents 1000,5000. */
    agents: { type: 'string', default: '1000' },
    'idle-seconds': { type: 'string', default: '60' },
    'profile-agents': { type: 'string', default: '1000' },
    routes: { type: 'string', default: '1000' },
    'most-routes': { type: 'string', default: '5000' },
    'table-agents': { type: 'string', default: '10000' },
    list: { type: 'boolean', default: false },
    out: { type: 'string', default: join(checkout, '.out/bench') },
    /** Set by this script for the part of it that runs in the cluster's network. */
    inside: { type: 'boolean', default: false },
  },
});
const clusterName = 'bench';
let opened: Stage | undefined;

function stage(): Stage {
  if (opened === undefined) throw new Error('no cluster');
  return opened;
}

const benches: readonly Bench[] = [
  routesBench(stage, { routes: Number(values.routes), mostRoutes: Number(values['most-routes']) }),
  tablesBench(stage, { agents: Number(values['table-agents']), routers: 3 }),
  profileBench(stage, { agents: Number(values['profile-agents']), folder: values.out }),
  ...values.agents
    .split(',')
    .map((agents) =>
      agentsBench(stage, { agents: Number(agents), idleSeconds: Number(values['idle-seconds']) }),
    ),
];
const chosen = benches.filter(({ name }) => positionals.length === 0 || positionals.includes(name));

async function measure(bench: Bench): Promise<BenchResult> {
  const scope = new BenchScope();
  try {
    return await bench.run(scope);
  } catch (error) {
    console.error(scope.transcript());
    throw error;
  } finally {
    await scope.end();
  }
}

/** In the cluster's network. */
async function runInside(): Promise<number> {
  const cluster = await startCluster({ name: clusterName });
  if ('missing' in cluster) throw new Error(cluster.missing);
  const scope = new BenchScope();
  process.once('SIGINT', () => process.exit(130));
  try {
    opened = await openStage(cluster, scope);
    await sweep(opened);
    return await runBenches(chosen, values.out, measure);
  } finally {
    await scope.end();
  }
}

/** Brings the cluster up, runs this script again in its network, and takes the cluster down. */
async function runOutside(): Promise<number> {
  const progress = (line: string) => console.log(`Cluster: ${line}`);
  const cluster = await startCluster({ name: clusterName, progress });
  if ('missing' in cluster) {
    console.log(`No Kubernetes to measure on: ${cluster.missing}`);
    for (const name of chosen.flatMap(({ goals }) => goals)) console.log(`goal ${name} skipped: no cluster`);
    return 0;
  }
  const interrupt = () => child.kill('SIGINT');
  const self = [process.execPath, import.meta.filename, ...process.argv.slice(2), '--inside'];
  const [file = '', ...args] = [...cluster.enter, ...self];
  const env = { ...process.env, ...cluster.env };
  const child = spawn(file, args, { stdio: 'inherit', env });
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.on('error', reject).on('exit', (code) => resolve(code ?? 1));
    });
  } finally {
    await cluster.close();
  }
}

if (values.list) for (const { name, about } of benches) console.log(`${name.padEnd(20)} ${about}`);
else if (chosen.length === 0) {
  console.error(`No such bench. There are: ${benches.map(({ name }) => name).join(', ')}`);
  process.exitCode = 2;
} else process.exitCode = await (values.inside ? runInside() : runOutside());
