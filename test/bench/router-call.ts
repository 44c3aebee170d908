import { createServer } from 'node:net';
import { join } from 'node:path';
import { sayPrompt, startAgentServer } from './harness/agent-server.ts';
import { startApi } from './harness/api.ts';
import type { Bench, BenchResult, Goal } from './harness/bench.ts';
import { CannotRun } from './harness/bench.ts';
import { childrenOf } from './harness/machine.ts';
import { lineOf, requirePeers, type Scope, type Side, until } from './harness/scope.ts';
import { median, medianRatio, round } from './harness/stats.ts';
import { type Load, type OpenTarget, runMeasured, startLoad } from './load/client.ts';
import type { LoadTarget } from './load/order.ts';

const rounds = 4;
const sliceMs = 1_000;
const levels = [1, 32] as const;

/** One way to reach a backend. */
interface Way {
  readonly title: string;
  readonly open: OpenTarget;
  /** Processes whose CPU a call costs. */
  readonly pids: () => readonly number[];
}

type Sample = Awaited<ReturnType<typeof runMeasured>>;
/** Samples of one round by way and number of connections. */
type Round = Record<string, Record<number, Sample>>;

/**
 * What a call through the router costs beside the same backend called directly and npm mcp-proxy before the same kind
 * of backend. With two cores the measured process has one of them, so calls per second are of one core.
 */
export const routerCall: Bench = {
  name: 'router-call',
  about: 'tools/call through the router, beside a direct call and npm mcp-proxy',
  goals: [
    'P1-of-direct',
    'P1-over-mcp-proxy',
    'P1-of-direct-by-cpu',
    'P1-over-mcp-proxy-by-cpu',
    'P2-added-p50-ms',
    'P3-cpu-micros',
  ],
  async run(scope) {
    const { ways, missing } = await openWays(scope);
    for (const way of Object.values(ways)) await way.open.run({ connections: 32, ms: 500 });
    const taken: Round[] = [];
    for (let index = 0; index < rounds; index += 1) taken.push(await measureRound(ways));
    return judge(ways, taken, missing, scope.pinned);
  },
};

async function measureRound(ways: Readonly<Record<string, Way>>): Promise<Round> {
  const samples: Round = {};
  for (const connections of levels) {
    for (const [name, way] of Object.entries(ways)) {
      const sample = await runMeasured(way.open, { connections, ms: sliceMs }, way.pids());
      samples[name] = { ...samples[name], [connections]: sample };
    }
  }
  return samples;
}

async function openWays(scope: Scope): Promise<{ ways: Record<string, Way>; missing: string | undefined }> {
  const api = await startApi(scope);
  const load = startLoad(scope);
  const raw = await api.createAgent('raw');
  const backend = await startRawBackend(scope, raw.key, 'load');
  const directBackend = await startRawBackend(scope, raw.key, 'measured');
  await api.publish(raw.agent, { uid: 'raw-1', address: `unix:${backend.socket}` });
  const real = await api.createAgent('real');
  const agentServer = await startAgentServer(scope, { mcp: { prompts: [sayPrompt] }, side: 'load', ...real });
  await api.publish(real.agent, { uid: agentServer.instance, address: `unix:${agentServer.socket}` });
  const port = await freePort();
  const router = api.startMain('router', ['--listen', `127.0.0.1:${port}`], { side: 'measured' });
  await until(
    'the router is ready',
    async () => (await fetch(`http://127.0.0.1:${port}/health?ready`)).ok || undefined,
  );
  const noop = { method: 'tools/call', name: 'noop', connections: 32 } as const;
  const at = (portNumber: number, url: string, era: LoadTarget['era']) =>
    ({ address: { host: '127.0.0.1', port: portNumber }, url, era, ...noop }) as const;
  const routerPid = () => [router.pid];
  const ways: Record<string, Way> = {
    direct: {
      title: 'backend directly',
      open: await load.open(at(directBackend.port, '/mcp', 'none')),
      pids: () => [directBackend.pid],
    },
    router: {
      title: 'router, /mcp, 2025-11-25',
      open: await load.open(at(port, '/mcp', 'sessions')),
      pids: routerPid,
    },
    stateless: {
      title: 'router, /mcp, 2026-07-28',
      open: await load.open(at(port, '/mcp', 'stateless')),
      pids: routerPid,
    },
    one: {
      title: 'router, /mcps/raw/mcp',
      open: await load.open(at(port, '/mcps/raw/mcp', 'sessions')),
      pids: routerPid,
    },
    agentServer: {
      title: 'agent-server directly (prompt)',
      open: await load.open(agentServer.target({ method: 'prompts/get', name: 'say', connections: 32 })),
      pids: () => [agentServer.pid],
    },
    chain: {
      title: 'router and agent-server (prompt)',
      open: await load.open({ ...at(port, '/mcp', 'sessions'), method: 'prompts/get', name: 'say' }),
      pids: () => [router.pid, agentServer.pid],
    },
  };
  try {
    return { ways: { ...ways, mcpProxy: await openMcpProxy(scope, load, at) }, missing: undefined };
  } catch (error) {
    if (error instanceof CannotRun) return { ways, missing: error.message };
    throw error;
  }
}

async function startRawBackend(scope: Scope, key: { kid: string; secret: Buffer }, side: Side) {
  const socket = join(scope.folder, `raw-${side}.sock`);
  const args = [socket, key.secret.toString('base64url'), key.kid, 'raw-1'];
  const started = scope.start(join(import.meta.dirname, 'programs/raw-backend.ts'), args, { side });
  return { ...started, socket, port: Number(await lineOf(started.process, 'port ')) };
}

/** With its own defaults; its child, the backend, counts as part of it, since it cannot be called otherwise. */
async function openMcpProxy(
  scope: Scope,
  load: Load,
  at: (port: number, url: string, era: LoadTarget['era']) => LoadTarget,
): Promise<Way> {
  const script = join(requirePeers(), 'node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs');
  const port = await freePort();
  const backend = [process.execPath, join(import.meta.dirname, 'programs/stdio-backend.mjs')];
  const flags = ['--port', String(port), '--host', '127.0.0.1', '--server', 'stream', '--', ...backend];
  const { pid } = scope.start(script, flags, { side: 'measured' });
  const target = at(port, '/mcp', 'sessions');
  const open = await until('mcp-proxy answers', () => load.open(target));
  return { title: 'npm mcp-proxy (stdio backend)', open, pids: () => [pid, ...childrenOf(pid)] };
}

const atLeast = { op: '>=', unit: '×' } as const;

function judge(
  ways: Readonly<Record<string, Way>>,
  taken: readonly Round[],
  missing: string | undefined,
  pinned: boolean,
): BenchResult {
  const of = (name: string, connections: number) => (samples: Round) => pick(samples, name, connections);
  const rate = (name: string) => (samples: Round) => of(name, 32)(samples).callsPerSecond;
  const p50 = (name: string) => (samples: Round) => of(name, 1)(samples).p50;
  const added = median(taken.map((samples) => p50('router')(samples) - p50('direct')(samples)));
  const micros = median(taken.map((samples) => of('router', 32)(samples).micros));
  const noProc = 'this system has no /proc';
  const orSkip = (value: number) => (Number.isNaN(value) ? { skipped: noProc } : value);
  const perCore = (name: string) => (samples: Round) => 1 / of(name, 32)(samples).micros;
  const over = (rateOf: typeof rate) =>
    missing === undefined
      ? orSkip(medianRatio(taken, rateOf('router'), rateOf('mcpProxy')))
      : { skipped: missing };
  const goals: Goal[] = [
    {
      ...atLeast,
      name: 'P1-of-direct',
      target: 0.25,
      value: medianRatio(taken, rate('router'), rate('direct')),
    },
    { ...atLeast, name: 'P1-over-mcp-proxy', target: 4, value: over(rate) },
    {
      ...atLeast,
      name: 'P1-of-direct-by-cpu',
      target: 0.25,
      value: orSkip(medianRatio(taken, perCore('router'), perCore('direct'))),
    },
    { ...atLeast, name: 'P1-over-mcp-proxy-by-cpu', target: 4, value: over(perCore) },
    { name: 'P2-added-p50-ms', op: '<=', target: 0.35, unit: 'ms', value: added },
    { name: 'P3-cpu-micros', op: '<=', target: 110, unit: 'µs', value: orSkip(micros) },
  ];
  const rows = Object.entries(ways).flatMap(([name, { title }]) =>
    levels.map((connections) => {
      const samples = taken.map(of(name, connections));
      const middle = (field: keyof Sample) => median(samples.map((sample) => sample[field]));
      return [
        `${title}, c=${connections}`,
        middle('callsPerSecond'),
        middle('p50'),
        middle('p99'),
        middle('micros'),
        1e6 / middle('micros'),
      ];
    }),
  );
  const columns = ['medians', 'calls/s', 'p50 ms', 'p99 ms', 'CPU µs/call', 'calls a core-second'];
  const own = median(taken.map((samples) => of('router', 32)(samples).ownMicros));
  return {
    tables: [{ title: `${rounds} rounds of ${sliceMs / 1000} s each`, columns, rows }],
    goals,
    samples: { pinned, rounds: taken },
    notes: [
      pinned
        ? 'What is measured has core 0 to itself; load and backends are on core 1.'
        : 'Processes are not bound to cores: taskset or a second core is missing.',
      `The load itself used ${round(own, 1)} µs of CPU a call and checked every answer; it, not the backend, limits the direct calls/s.`,
      'Goals “by-cpu” compare calls a core-second at c=32: they hold when other programs use the machine too.',
      'CPU of mcp-proxy includes its stdio backend; of the chain, router and agent-server.',
    ],
  };
}

function pick(samples: Round, name: string, connections: number): Sample {
  const sample = samples[name]?.[connections];
  if (sample === undefined) throw new Error(`no sample of ${name} at ${connections}`);
  return sample;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
