import { readFileSync, writeFileSync } from 'node:fs';
import type { HostileCase, Refusal } from '../hostile/case.ts';
import { hostileAnswers } from '../hostile/cases/answers.ts';
import { bodies } from '../hostile/cases/bodies.ts';
import { headers } from '../hostile/cases/headers.ts';
import { hostileLists } from '../hostile/cases/lists.ts';
import { origins } from '../hostile/cases/origins.ts';
import { patterns } from '../hostile/cases/patterns.ts';
import { interleaved, sessions } from '../hostile/cases/sessions.ts';
import { slow } from '../hostile/cases/slow.ts';
import { smuggling } from '../hostile/cases/smuggling.ts';
import { type HostilePlace, startHostilePlace } from '../hostile/hostile-place.ts';
import { type Place, startPlace } from '../hostile/place.ts';
import type { Bench, BenchResult, Goal } from './harness/bench.ts';
import type { Lag } from './harness/probe.ts';
import { BenchScope, type Scope } from './harness/scope.ts';

/** What one attack did to the router. */
interface Figures {
  readonly group: string;
  readonly name: string;
  readonly answer: string;
  readonly control: string;
  /** Until it was refused; of attacks that are not refused at once, the slowest honest call meanwhile. */
  readonly ms: number;
  /** MiB that the router had at most beyond what it had before. */
  readonly grownMiB: number;
  readonly lag: Lag;
}

interface Failed {
  readonly group: string;
  readonly name: string;
  readonly failed: string;
}

interface Skipped {
  readonly name: string;
  readonly skipped: string;
}

type Outcome = Figures | Failed | Skipped;

/** Attacks with requests: what the goals are about. */
const requests: Readonly<Record<string, readonly HostileCase[]>> = {
  origins,
  sessions: [...sessions.slice(0, 1), interleaved(50_000)],
  headers,
  bodies,
  patterns,
  slow,
  smuggling,
};

/** Attacks by agents: an answer that is passed on is not refused, and one that is read is held. */
const byAgents: Readonly<Record<string, readonly HostileCase<HostilePlace>[]>> = {
  lists: hostileLists,
  answers: hostileAnswers,
};

export const hostile: Bench = {
  name: 'hostile',
  about: 'hostile requests and hostile agents at the deployed path: what is refused how soon, at what cost',
  goals: [
    'S-cases-failed',
    'S12-refused-ms',
    'S12-rss-mib',
    'S12-lag-p99-ms',
    'S-agents-honest-ms',
    'S-agents-lag-p99-ms',
  ],
  longestMs: 20 * 60_000,
  async run(scope) {
    const taken: Outcome[] = [];
    const place = await startPlace(scope);
    for (const [group, cases] of Object.entries(requests)) await measureGroup(place, group, cases, taken);
    await withScope(async (other) => {
      const worse = await startHostilePlace(other);
      for (const [group, cases] of Object.entries(byAgents)) await measureGroup(worse, group, cases, taken);
    });
    return judge(taken);
  },
};

async function withScope(work: (scope: Scope) => Promise<void>): Promise<void> {
  const scope = new BenchScope();
  try {
    await work(scope);
  } finally {
    await scope.end();
  }
}

async function measureGroup<P extends Place>(
  place: P,
  group: string,
  cases: readonly HostileCase<P>[],
  taken: Outcome[],
): Promise<void> {
  for (const one of cases) {
    const skipped = one.missing?.();
    const outcome = skipped === undefined ? await measure(place, group, one) : { name: one.name, skipped };
    if ('skipped' in outcome) console.log(`  NOT TRIED: ${outcome.name}: ${outcome.skipped}`);
    if ('failed' in outcome) console.log(`  FAILED: ${outcome.name}: ${outcome.failed}`);
    if ('lag' in outcome)
      console.log(`  ${outcome.name}: ${Math.round(outcome.ms)} ms, ${outcome.answer.slice(0, 60)}`);
    taken.push(outcome);
  }
}

async function measure<P extends Place>(place: P, group: string, one: HostileCase<P>): Promise<Outcome> {
  const { router } = place;
  const { name } = one;
  try {
    // The first time a path is taken costs more than any later one, and is nobody's attack.
    const control = await one.control(place);
    await router.probe.heap();
    forgetPeak(router.pid);
    const before = statusOf(router.pid, 'VmRSS');
    await router.probe.lag();
    const { answer, ms } = await attackFor(place, one);
    const lag = await router.probe.lag();
    const grownMiB = statusOf(router.pid, 'VmHWM') - before;
    return { group, name, answer, control, ms, grownMiB, lag };
  } catch (error) {
    return { group, name, failed: String(error).slice(0, 500) };
  }
}

/** How long an attack is repeated, in milliseconds: a percentile of a moment says nothing. */
const attackMs = 1_000;

async function attackFor<P extends Place>(place: P, one: HostileCase<P>): Promise<Refusal> {
  const begun = performance.now();
  let { answer, ms } = await one.attack(place);
  while (performance.now() - begun < attackMs) {
    const again = await one.attack(place);
    if (again.ms > ms) ({ answer, ms } = again);
  }
  return { answer, ms };
}

/** What the kernel remembers as the most memory that the process had begins anew. */
function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

function statusOf(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1]) / 1024;
}

const columns = ['', 'ms', 'RSS + MiB', 'lag p99 ms', 'lag max ms', 'answer', 'control'];

function judge(taken: readonly Outcome[]): BenchResult {
  const figures = taken.filter((one) => 'lag' in one);
  const failed = taken.filter((one) => 'failed' in one);
  const skipped = taken.filter((one) => 'skipped' in one);
  const ofRequests = figures.filter(({ group }) => group in requests);
  // Calls by the ten thousand are no attack on memory: they are looked at for answers that cross.
  const ofFew = ofRequests.filter(({ group }) => group !== 'sessions');
  const ofAgents = figures.filter(({ group }) => group in byAgents);
  const atMost = (name: string, target: number, unit: string, value: number): Goal => ({
    ...{ name, op: '<=', target, unit, value },
  });
  const most = (list: readonly Figures[], value: (one: Figures) => number) => Math.max(...list.map(value));
  return {
    tables: Object.keys({ ...requests, ...byAgents }).map((group) => ({
      title: group,
      columns,
      rows: figures
        .filter((one) => one.group === group)
        .map(({ name, ms, grownMiB, lag, answer, control }) => [
          ...[name, ms, grownMiB, lag.p99, lag.max],
          ...[answer.slice(0, 50), control],
        ]),
    })),
    goals: [
      atMost('S-cases-failed', 0, '', failed.length),
      atMost(
        'S12-refused-ms',
        1_000,
        'ms',
        most(ofRequests, ({ ms }) => ms),
      ),
      atMost(
        'S12-rss-mib',
        32,
        'MiB',
        most(ofFew, ({ grownMiB }) => grownMiB),
      ),
      atMost(
        'S12-lag-p99-ms',
        50,
        'ms',
        most(ofRequests, ({ lag }) => lag.p99),
      ),
      atMost(
        'S-agents-honest-ms',
        1_000,
        'ms',
        most(ofAgents, ({ ms }) => ms),
      ),
      atMost(
        'S-agents-lag-p99-ms',
        50,
        'ms',
        most(ofAgents, ({ lag }) => lag.p99),
      ),
    ],
    samples: taken,
    notes: [
      `${figures.length} attacks, each with its control; ${failed.length} failed, ${skipped.length} not tried.`,
      'ms: until the slowest refusal of the attack; for slow clients and agents, the slowest honest call meanwhile.',
      'RSS: the most that the router had at any time of the attack, less what it had before.',
      ...failed.map(({ name, failed: why }) => `FAILED: ${name}: ${why}`),
      ...skipped.map(({ name, skipped: why }) => `NOT TRIED: ${name}: ${why}`),
    ],
  };
}
