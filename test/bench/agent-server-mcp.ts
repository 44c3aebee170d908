import { join } from 'node:path';
import { sayPrompt, startAgentServer } from './harness/agent-server.ts';
import type { Bench, BenchResult } from './harness/bench.ts';
import { createProbe, type Probe } from './harness/probe.ts';
import { lineOf, type Scope } from './harness/scope.ts';
import { median, medianRatio } from './harness/stats.ts';
import { type OpenTarget, runMeasured, startLoad } from './load/client.ts';

const rounds = 4;
const sliceMs = 1_200;
const soakCalls = 200_000;
const longestSoakMs = 35_000;

interface Way {
  readonly title: string;
  readonly open: OpenTarget;
  readonly pid: number;
}
type Sample = Awaited<ReturnType<typeof runMeasured>>;
type Round = Record<'sdk' | 'bare' | 'signed', Sample>;

/**
 * The MCP layer alone: `prompts/get` of a prompt whose text holds the argument, which starts no process and calls
 * nothing else, beside the official SDK's server doing the same. Then one session called until the heap would show it.
 */
export const agentServerMcp: Bench = {
  name: 'agent-server-mcp',
  about: 'the agent-server’s own MCP layer beside the official SDK server',
  goals: ['P6-over-sdk', 'P6-cpu-micros', 'P6-heap-growth'],
  async run(scope) {
    const probe = createProbe(scope);
    const { ways, session } = await openWays(scope, probe);
    for (const way of Object.values(ways)) await way.open.run({ connections: 8, ms: 600 });
    const taken: Round[] = [];
    for (let index = 0; index < rounds; index += 1) {
      taken.push({
        sdk: await measure(ways.sdk),
        bare: await measure(ways.bare),
        signed: await measure(ways.signed),
      });
    }
    return judge(ways, taken, await soak(await session(), probe));
  },
};

function measure(way: Way): Promise<Sample> {
  return runMeasured(way.open, { connections: 8, ms: sliceMs }, [way.pid]);
}

async function openWays(
  scope: Scope,
  probe: Probe,
): Promise<{ ways: Record<keyof Round, Way>; session: () => Promise<OpenTarget> }> {
  const load = startLoad(scope);
  const sdk = scope.start(join(import.meta.dirname, 'programs/sdk-server.ts'), [], { side: 'measured' });
  const port = Number(await lineOf(sdk.process, 'port '));
  const mcp = { prompts: [sayPrompt] };
  const { nodeFlags, env } = probe;
  const bare = await startAgentServer(scope, { mcp, withoutTokens: true, side: 'measured', nodeFlags, env });
  const signed = await startAgentServer(scope, { mcp, side: 'measured' });
  const call = { method: 'prompts/get', name: 'say', connections: 8 } as const;
  const address = { host: '127.0.0.1', port };
  const ways = {
    sdk: {
      title: 'SDK 1.x server, sessions',
      pid: sdk.pid,
      open: await load.open({ address, url: '/mcp', era: 'sessions', ...call }),
    },
    bare: {
      title: 'agent-server, sessions, no tokens',
      pid: bare.pid,
      open: await load.open(bare.target(call)),
    },
    signed: {
      title: 'agent-server, a token a call',
      pid: signed.pid,
      open: await load.open(signed.target(call)),
    },
  };
  return { ways, session: () => load.open({ ...bare.target(call), sharedSession: true }) };
}

interface Soak {
  readonly calls: number;
  readonly seconds: number;
  /** Bytes in use after a collection: after the first tenth, and at the end. */
  readonly before: number;
  readonly after: number;
}

/** One session. The first tenth is warm-up: code is compiled and pools fill. */
async function soak(session: OpenTarget, probe: Probe): Promise<Soak> {
  const first = await session.run({ connections: 8, ms: longestSoakMs / 10, calls: soakCalls / 10 });
  const before = (await probe.heap()).heapUsed;
  const rest = { connections: 8, ms: longestSoakMs - first.seconds * 1000, calls: soakCalls - first.calls };
  const second = await session.run(rest);
  const after = (await probe.heap()).heapUsed;
  return { calls: first.calls + second.calls, seconds: first.seconds + second.seconds, before, after };
}

function judge(ways: Record<keyof Round, Way>, taken: readonly Round[], soaked: Soak): BenchResult {
  const growth = soaked.after / soaked.before - 1;
  const micros = median(taken.map(({ bare }) => bare.micros));
  const rows = (Object.keys(ways) as (keyof Round)[]).map((name) => {
    const middle = (field: keyof Sample) => median(taken.map((samples) => samples[name][field]));
    return [ways[name].title, middle('callsPerSecond'), middle('p50'), middle('p99'), middle('micros')];
  });
  const mebibytes = (bytes: number) => bytes / 1_048_576;
  return {
    tables: [
      {
        title: `prompts/get, c=8, ${rounds} rounds of ${sliceMs / 1000} s`,
        columns: ['medians', 'calls/s', 'p50 ms', 'p99 ms', 'CPU µs/call'],
        rows,
      },
      {
        title: 'One session, called on and on',
        columns: ['calls', 'seconds', 'heap MiB after a tenth', 'heap MiB at the end'],
        rows: [[soaked.calls, soaked.seconds, mebibytes(soaked.before), mebibytes(soaked.after)]],
      },
    ],
    goals: [
      {
        name: 'P6-over-sdk',
        op: '>=',
        target: 4,
        unit: '×',
        value: medianRatio(
          taken,
          ({ bare }) => bare.callsPerSecond,
          ({ sdk }) => sdk.callsPerSecond,
        ),
      },
      {
        name: 'P6-cpu-micros',
        op: '<=',
        target: 80,
        unit: 'µs',
        value: Number.isNaN(micros) ? { skipped: 'this system has no /proc' } : micros,
      },
      {
        name: 'P6-heap-growth',
        op: '<=',
        target: 0.1,
        unit: 'of the heap',
        value:
          soaked.calls >= soakCalls
            ? growth
            : { skipped: `only ${soaked.calls} of ${soakCalls} calls in ${longestSoakMs / 1000} s` },
      },
    ],
    samples: { rounds: taken, soak: soaked },
  };
}
