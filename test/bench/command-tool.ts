import { join } from 'node:path';
import { startAgentServer } from './harness/agent-server.ts';
import type { Bench, BenchResult, Table } from './harness/bench.ts';
import { createProbe, type Lag } from './harness/probe.ts';
import { type Scope, until } from './harness/scope.ts';
import { cleanEnvironment, type SpawnLoop, type SpawnOutcome, startSpawnLoop } from './harness/spawn-loop.ts';
import { median, medianRatio } from './harness/stats.ts';
import { type OpenTarget, startLoad } from './load/client.ts';
import type { LoadOutcome } from './load/order.ts';

const rounds = 5;
const sliceMs = 1_200;
const ballastMiB = 500;
const cat = { name: 'cat', command: ['/bin/cat'], inputSchema: { type: 'object' } };
const mcp = { tools: [cat], maxParallelTasks: 10 };
const call = { method: 'tools/call', name: 'cat', connections: 10 } as const;

interface Round {
  readonly tool: Record<1 | 10, LoadOutcome>;
  readonly bare: Record<1 | 10, SpawnOutcome>;
}

/** Late event loops while `cat` runs ten at a time, in processes with a large heap. */
interface Lags {
  readonly agentServer: Lag;
  readonly agentServerCalls: LoadOutcome;
  /** One at a time, in the same agent-server. */
  readonly agentServerSingle: LoadOutcome;
  /** A process that does nothing, meanwhile: what the machine itself adds. */
  readonly idle: Lag;
  /** The control: a process as large that spawns by itself. */
  readonly bare: Lag;
  readonly bareCalls: SpawnOutcome;
}

/**
 * A tool that is a fresh process a call, beside `child_process.spawn` of the same command without anything around it;
 * and whether the agent-server stays responsive with a large heap, where a spawn from itself would block it.
 * Nothing is bound to cores: the children of both sides use what there is.
 */
export const commandTool: Bench = {
  name: 'command-tool',
  about: 'a `cat` tool beside a bare spawn loop, and the loop’s lag with a 500 MB heap',
  goals: ['P7-of-bare-spawn', 'P7-p50-ms', 'P7-large-p50-ms', 'P7-lag-p99-ms'],
  async run(scope) {
    const agentServer = await startAgentServer(scope, { mcp });
    const target = await startLoad(scope).open(agentServer.target(call));
    const bare = startSpawnLoop(scope);
    const taken: Round[] = [];
    for (let index = 0; index <= rounds; index += 1) taken.push(await measureRound(target, bare));
    const [, ...counted] = taken;
    return judge(counted, await measureLags(scope));
  },
};

async function measureRound(tool: OpenTarget, bare: SpawnLoop): Promise<Round> {
  const spawn = (concurrency: number) =>
    bare.run({ command: cat.command, env: cleanEnvironment, concurrency, ms: sliceMs });
  return {
    tool: {
      1: await tool.run({ connections: 1, ms: sliceMs }),
      10: await tool.run({ connections: 10, ms: sliceMs }),
    },
    bare: { 1: await spawn(1), 10: await spawn(10) },
  };
}

async function measureLags(scope: Scope): Promise<Lags> {
  const probe = createProbe(scope, { ballastMiB });
  const server = await startAgentServer(scope, { mcp, nodeFlags: probe.nodeFlags, env: probe.env });
  const target = await startLoad(scope).open(server.target(call));
  const nothing = createProbe(scope);
  scope.start(join(import.meta.dirname, 'programs/idle.ts'), [], nothing);
  await target.run({ connections: 10, ms: 1_000 });
  await Promise.all([probe.lag(), until('the idle process answers', () => nothing.lag())]);
  const agentServerCalls = await target.run({ connections: 10, ms: 4_000 });
  const [agentServer, idle] = await Promise.all([probe.lag(), nothing.lag()]);
  const agentServerSingle = await target.run({ connections: 1, ms: 2_000 });
  await server.stop();
  const control = createProbe(scope, { ballastMiB });
  const bare = startSpawnLoop(scope, { nodeFlags: control.nodeFlags, env: control.env });
  const order = { command: cat.command, env: cleanEnvironment, concurrency: 10 };
  await bare.run({ ...order, ms: 500 });
  await control.lag();
  const bareCalls = await bare.run({ ...order, ms: 3_000 });
  return {
    ...{ agentServer, agentServerCalls, agentServerSingle, idle },
    bare: await control.lag(),
    bareCalls,
  };
}

function judge(taken: readonly Round[], lags: Lags): BenchResult {
  const rows = ([1, 10] as const).flatMap((level) =>
    (['tool', 'bare'] as const).map((side) => {
      const middle = (field: 'callsPerSecond' | 'p50' | 'p99') =>
        median(taken.map((samples) => samples[side][level][field]));
      const title = side === 'tool' ? 'cat tool through MCP' : 'bare spawn of cat';
      return [`${title}, c=${level}`, middle('callsPerSecond'), middle('p50'), middle('p99')];
    }),
  );
  return {
    tables: [
      {
        title: `${rounds} rounds of ${sliceMs / 1000} s`,
        columns: ['medians', 'calls/s', 'p50 ms', 'p99 ms'],
        rows,
      },
      ...largeTables(lags),
    ],
    goals: [
      {
        name: 'P7-of-bare-spawn',
        op: '>=',
        target: 0.65,
        unit: '×',
        value: medianRatio(
          taken,
          ({ tool }) => tool[10].callsPerSecond,
          ({ bare }) => bare[10].callsPerSecond,
        ),
      },
      {
        name: 'P7-p50-ms',
        op: '<=',
        target: 3,
        unit: 'ms',
        value: median(taken.map(({ tool }) => tool[1].p50)),
      },
      { name: 'P7-large-p50-ms', op: '<=', target: 3, unit: 'ms', value: lags.agentServerSingle.p50 },
      { name: 'P7-lag-p99-ms', op: '<=', target: 5, unit: 'ms', value: lags.agentServer.p99 },
    ],
    samples: { rounds: taken, lags },
  };
}

function largeTables(lags: Lags): Table[] {
  const { callsPerSecond, p50, p99 } = lags.agentServerSingle;
  return [
    {
      title: `With ${ballastMiB} MiB on the heap, ten at a time`,
      columns: ['event loop late by', 'calls/s', 'p50 ms', 'p99 ms', 'max ms'],
      rows: [
        lagRow('agent-server', lags.agentServerCalls, lags.agentServer),
        lagRow('a process that spawns itself', lags.bareCalls, lags.bare),
        ['a small idle process, beside the first', '', lags.idle.p50, lags.idle.p99, lags.idle.max],
      ],
    },
    {
      title: `With ${ballastMiB} MiB on the heap, one at a time`,
      columns: ['', 'calls/s', 'p50 ms', 'p99 ms'],
      rows: [['cat tool through MCP', callsPerSecond, p50, p99]],
    },
  ];
}

function lagRow(title: string, { callsPerSecond }: { readonly callsPerSecond: number }, lag: Lag) {
  return [title, callsPerSecond, lag.p50, lag.p99, lag.max];
}
