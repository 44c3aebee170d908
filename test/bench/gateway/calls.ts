import { type Bench, type BenchResult, CannotRun, type Goal } from '../harness/bench.ts';
import type { Scope } from '../harness/scope.ts';
import { median, medianRatio, round } from '../harness/stats.ts';
import { openOwnWays, peers, type Way, whyNot } from './ways.ts';
import { hasProgram, type Outcome, runWrk } from './wrk.ts';

const rounds = 3;
const seconds = 2;
const levels = [1, 32] as const;

/** Outcomes of one round by title and connections; `list` for tools/list. */
type Round = Record<string, Outcome>;

/**
 * The same call through every gateway in one run, taking turns. What is measured has one core; wrk checks every answer.
 */
export const gatewayCalls: Bench = {
  name: 'gateway-calls',
  about: 'tools/call and tools/list through the router and through other gateways, each on one core',
  goals: [
    'P1-of-direct',
    'P1-over-best-npm',
    'P1-over-rust',
    'P1-over-vmcp',
    'P1-of-direct-by-cpu',
    'P1-over-best-npm-by-cpu',
    'P1-over-rust-by-cpu',
    'P1-over-vmcp-by-cpu',
    'P2-added-p50-ms',
    'P3-cpu-micros',
    'P4-list-of-direct',
    'P4-list-of-direct-by-cpu',
  ],
  async run(scope) {
    if (!hasProgram('wrk')) throw new CannotRun('wrk is missing: sudo apt-get install wrk');
    const { ways, backendPort } = await openOwnWays(scope);
    const missing: string[] = [];
    for (const [name, open] of Object.entries(peers)) {
      try {
        const way = await open(scope, backendPort);
        await runWrk(scope, way.call, { connections: 4, seconds: 1 });
        ways.push(way);
      } catch (error) {
        missing.push(`NOT MEASURED: ${name}: ${whyNot(error)}`);
        console.log(`  ${missing.at(-1)}`);
      }
    }
    for (const way of ways) await runWrk(scope, way.call, { connections: 32, seconds: 1 });
    const taken: Round[] = [];
    for (let index = 0; index < rounds; index += 1) taken.push(await measureRound(scope, ways));
    return judge(ways, taken, missing, scope.pinned);
  },
};

async function measureRound(scope: Scope, ways: readonly Way[]): Promise<Round> {
  const samples: Round = {};
  for (const way of ways) {
    for (const connections of levels) {
      const order = { connections, seconds };
      samples[`${way.title} ${connections}`] = await runWrk(scope, way.call, order, way.pids);
    }
    if (way.list === undefined || !['direct', 'own'].includes(way.kind)) continue;
    const order = { connections: 32, seconds };
    samples[`${way.title} list`] = await runWrk(scope, way.list, order, way.pids);
  }
  return samples;
}

const atLeast = { op: '>=', unit: '×' } as const;

function judge(
  ways: readonly Way[],
  taken: readonly Round[],
  missing: readonly string[],
  pinned: boolean,
): BenchResult {
  const [direct = '', own = ''] = ways.map(({ title }) => title);
  const at = (title: string, what: number | 'list') => (samples: Round) => pick(samples, `${title} ${what}`);
  const ratio = (top: string, bottom: string, what: number | 'list' = 32) =>
    medianRatio(
      taken,
      (samples) => at(top, what)(samples).callsPerSecond,
      (samples) => at(bottom, what)(samples).callsPerSecond,
    );
  const byCpu = (top: string, bottom: string, what: number | 'list' = 32) =>
    medianRatio(
      taken,
      (samples) => at(bottom, what)(samples).micros,
      (samples) => at(top, what)(samples).micros,
    );
  const over = (kind: Way['kind'], by: typeof ratio): Goal['value'] => {
    const titles = ways.filter((way) => way.kind === kind).map(({ title }) => title);
    if (titles.length === 0) return { skipped: missing.join('; ') };
    return Math.min(...titles.map((title) => by(own, title)));
  };
  const added = median(taken.map((samples) => at(own, 1)(samples).p50 - at(direct, 1)(samples).p50));
  const micros = median(taken.map((samples) => at(own, 32)(samples).micros));
  const goals: Goal[] = [
    { ...atLeast, name: 'P1-of-direct', target: 0.25, value: ratio(own, direct) },
    { ...atLeast, name: 'P1-over-best-npm', target: 5, value: over('npm', ratio) },
    { ...atLeast, name: 'P1-over-rust', target: 1, value: over('rust', ratio) },
    { ...atLeast, name: 'P1-over-vmcp', target: 8, value: over('go', ratio) },
    { ...atLeast, name: 'P1-of-direct-by-cpu', target: 0.25, value: byCpu(own, direct) },
    { ...atLeast, name: 'P1-over-best-npm-by-cpu', target: 5, value: over('npm', byCpu) },
    { ...atLeast, name: 'P1-over-rust-by-cpu', target: 1, value: over('rust', byCpu) },
    { ...atLeast, name: 'P1-over-vmcp-by-cpu', target: 8, value: over('go', byCpu) },
    { name: 'P2-added-p50-ms', op: '<=', target: 0.35, unit: 'ms', value: added },
    { name: 'P3-cpu-micros', op: '<=', target: 90, unit: 'µs', value: micros },
    { ...atLeast, name: 'P4-list-of-direct', target: 0.6, value: ratio(own, direct, 'list') },
    { ...atLeast, name: 'P4-list-of-direct-by-cpu', target: 0.6, value: byCpu(own, direct, 'list') },
  ];
  return {
    tables: [{ title: `medians of ${rounds} rounds of ${seconds} s`, columns, rows: rowsOf(ways, taken) }],
    goals,
    samples: { pinned, rounds: taken },
    notes: [
      pinned
        ? 'What is measured has core 0 to itself; wrk and the backend behind it are on core 1.'
        : 'Processes are not bound to cores: taskset or a second core is missing.',
      'The router mints a token for every call, writes its access line and counts it; the others do as they do by default.',
      'CPU of a gateway includes the stdio server behind it, where it has one. Goals “by-cpu” compare CPU a call.',
      ...missing,
    ],
  };
}

const columns = ['', 'calls/s', 'p50 ms', 'p99 ms', 'CPU µs/call', 'of direct', 'of direct by CPU'];

function rowsOf(ways: readonly Way[], taken: readonly Round[]): (string | number)[][] {
  const [direct] = ways;
  return ways.flatMap((way) =>
    [...levels, 'list' as const].flatMap((what) => {
      const samples = taken.map((round) => round[`${way.title} ${what}`]);
      const found = samples.filter((sample) => sample !== undefined);
      if (found.length === 0) return [];
      const base = taken.map((round) => pick(round, `${direct?.title} ${what}`));
      const middle = (value: (sample: Outcome, index: number) => number) => median(found.map(value));
      return [
        [
          `${way.title}, ${what === 'list' ? 'tools/list c=32' : `c=${what}`}`,
          middle((sample) => sample.callsPerSecond),
          middle((sample) => sample.p50),
          middle((sample) => sample.p99),
          middle((sample) => sample.micros),
          round(
            middle((sample, index) => sample.callsPerSecond / (base[index]?.callsPerSecond ?? Number.NaN)),
            3,
          ),
          round(
            middle((sample, index) => (base[index]?.micros ?? Number.NaN) / sample.micros),
            3,
          ),
        ],
      ];
    }),
  );
}

function pick(samples: Round, name: string): Outcome {
  const sample = samples[name];
  if (sample === undefined) throw new Error(`no sample of ${name}`);
  return sample;
}
