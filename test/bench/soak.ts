import type { Bench, BenchResult, Goal, Table } from './harness/bench.ts';
import { round } from './harness/stats.ts';
import type { Standing, Standings } from './soak/ground.ts';
import { runSoak, type SoakOrder, type SoakOutcome } from './soak/run.ts';

export const fullSoak: SoakOrder = {
  sessions: 50_000,
  calls: 1_000_000,
  live: 5_000,
  connections: 16,
  idleMs: 90_000,
  untilIdle: true,
  progress: console.log,
};

/** Whether anything is left of many sessions; see docs/development/benches.md. */
export function soakBench(order: SoakOrder): Bench {
  return {
    name: 'soak',
    about: `${order.calls} calls over ${order.sessions} sessions, each with an upstream session of its own`,
    goals: ['soak-calls', 'soak-failed'],
    async run(scope) {
      const outcome = await runSoak(scope, order);
      return judge(order, outcome);
    },
  };
}

function judge(order: SoakOrder, outcome: SoakOutcome): BenchResult {
  const { kibEach, left, failures, micros, callSeconds } = outcome;
  const most = Math.max(...outcome.waves.map(({ sessions }) => sessions));
  const note = (line: string) => [line];
  return {
    tables: [standingsOf(outcome)],
    goals: goalsOf(order, outcome),
    samples: outcome,
    notes: [
      `${outcome.calls} calls in ${outcome.sessions} sessions, ${round(outcome.calls / callSeconds, 0)} a second; up to ${most} upstream sessions at once, ${left.sessions} left.`,
      `A session took ${round(kibEach.sessionHeap)} KiB of both heaps, with its upstream's stream ${round(kibEach.withStreamHeap)} KiB.`,
      `A call took ${round(micros.router, 0)} µs of the router's CPU and ${round(micros.agentServer, 0)} µs of the agent-server's.`,
      ...failures.flatMap((failure) => note(`failed: ${failure}`)),
    ],
  };
}

function standingsOf({ bare, start, after: [first, second] }: SoakOutcome): Table {
  const moments = { bare, 'after a wave': start, 'after one load': first, 'after another': second };
  const rows = (['router', 'agentServer'] as const).flatMap((name) =>
    Object.entries(moments).map(([when, standings]) => {
      const { rssMiB, heapMiB, heldMiB, descriptors } = standings[name];
      const title = name === 'router' ? 'router' : 'agent-server';
      return [`${title}, ${when}`, rssMiB, heapMiB, heldMiB, descriptors, timersOf(standings[name])];
    }),
  );
  const columns = ['', 'RSS MiB', 'heap in use', 'heap held', 'descriptors', 'timers'];
  return { title: 'What stands when no session is left', columns, rows };
}

function timersOf({ resources }: Standing): number {
  return (resources['Timeout'] ?? 0) + (resources['Immediate'] ?? 0);
}

function goalsOf(order: SoakOrder, outcome: SoakOutcome): Goal[] {
  const { start, after, left, kibEach } = outcome;
  const most = (name: string, target: number, value: number, unit: string): Goal => {
    return { name: `soak-${name}`, op: '<=', target, value, unit };
  };
  return [
    { name: 'soak-calls', op: '>=', target: order.calls, value: outcome.calls, unit: 'calls' },
    most('failed', 0, outcome.failed, 'calls'),
    most('upstream-sessions-left', 0, left.sessions - 1, 'sessions'),
    ...(['router', 'agentServer'] as const).flatMap((name) => {
      const title = name === 'router' ? 'router' : 'agent-server';
      const [first, second] = after;
      return [
        most(`${title}-descriptors-left`, 0, second[name].descriptors - start[name].descriptors, ''),
        most(`${title}-timers-left`, 0, timersOf(second[name]) - timersOf(start[name]), ''),
        most(`${title}-rss-of-equal-loads`, 1.05, ratio(first, second, name, 'rssMiB'), '×'),
        most(`${title}-heap-of-equal-loads`, 1.05, ratio(first, second, name, 'heapMiB'), '×'),
        most(`${title}-rss-of-start`, 1.05, second[name].rssMiB / start[name].rssMiB, '×'),
      ];
    }),
    most('session-KiB', 16, kibEach.session, 'KiB'),
    most('session-with-stream-KiB', 32, kibEach.withStream, 'KiB'),
  ];
}

/** Of the larger to the smaller. */
function ratio(
  first: Standings,
  second: Standings,
  name: keyof Standings,
  what: 'rssMiB' | 'heapMiB',
): number {
  const [one, other] = [first[name][what], second[name][what]];
  return Math.max(one, other) / Math.min(one, other);
}
