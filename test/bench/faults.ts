import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { runChurn } from './faults/churn-run.ts';
import { type KillOutcome, runKills, runWorkspaceKills } from './faults/kill-run.ts';
import { runNeighbours } from './faults/neighbours-run.ts';
import { runShutdowns } from './faults/shutdown-run.ts';
import type { Bench, Goal } from './harness/bench.ts';
import type { Scope } from './harness/scope.ts';
import { medianRatio, round } from './harness/stats.ts';

/** What calls bear, in so many of everything as is asked for; `share` makes it less. */
export function faultBenches(share = 1): Bench[] {
  return [shutdownBench(share), killBench(share), neighboursBench(share), churnBench(share)];
}

const none = (name: string, value: number): Goal => ({ name, op: '<=', target: 0, unit: '', value });

function shutdownBench(share: number): Bench {
  const calls = Math.round(10_000 * share);
  const each = { connections: 16, streams: 50, asks: 10 };
  return {
    name: 'fault-shutdown',
    about: `routers that end by SIGTERM during ${calls} calls, with open streams and questions that wait`,
    goals: ['fault-shutdown-failed', 'fault-shutdown-run-twice'],
    async run(scope) {
      const ends = ['overlap', 'overlap', 'gap', 'overlap', 'overlap'] as const;
      const outcome = await runShutdowns(scope, { calls, ...each, ends });
      const { tally, answered, askFailures, runs, texts, resumed, reopened, heard } = outcome;
      const asked = 2 * each.asks * ends.length;
      const row = [
        tally.done,
        tally.failures.length,
        tally.refused,
        tally.resent,
        answered,
        resumed,
        reopened,
      ];
      return {
        tables: [
          {
            title: `${ends.length} ends: ${ends.join(', ')}`,
            columns: ['', 'calls', 'failed', 'refused', 'sent again', 'answered', 'resumed', 'streams again'],
            rows: [['SIGTERM', ...row]],
          },
        ],
        goals: [
          none('fault-shutdown-failed', tally.failures.length + askFailures.length),
          none('fault-shutdown-run-twice', runs - texts),
          { name: 'fault-shutdown-answered', op: '>=', target: asked, unit: '', value: answered },
          { name: 'fault-shutdown-streams-heard', op: '>=', target: each.streams, unit: '', value: heard },
        ],
        samples: outcome,
        notes: [
          `Slowest call: ${round(tally.slowestMs, 0)} ms (with "gap" nobody accepts while the old router waits for questions).`,
          ...tally.failures.slice(0, 3),
          ...askFailures.slice(0, 3),
        ],
      };
    },
  };
}

function killBench(share: number): Bench {
  const kills = Math.max(1, Math.round(10 * share));
  const order = { kills, seconds: Math.max(6, 60 * share), perSecond: 200 };
  return {
    name: 'fault-kills',
    about: `routers that are killed, ${kills} times in ${order.seconds} s at ${order.perSecond} calls a second`,
    goals: ['fault-kills-refused'],
    async run(scope) {
      const outcomes = {
        'a held socket, one router': await runKills(partOf(scope, 'one'), order, 1),
        'a held socket, two routers': await runKills(partOf(scope, 'two'), order, 2),
        'the watchdog of a workspace': await runWorkspaceKills(scope, order),
      };
      const all = Object.values(outcomes);
      const sum = (of: (outcome: KillOutcome) => number) => all.reduce((total, one) => total + of(one), 0);
      const rows = Object.entries(outcomes).map(([title, { begun, tally, outagesMs }]) => {
        const { done, refused, lost, failures, slowestMs } = tally;
        return [title, begun, done, refused, lost, failures.length, Math.max(...outagesMs), slowestMs];
      });
      const columns = [
        '',
        'begun',
        'answered',
        'refused',
        'in flight, lost',
        'failed',
        'longest gap, ms',
        'slowest, ms',
      ];
      return {
        tables: [{ title: `${kills} kills each`, columns, rows }],
        goals: [
          none(
            'fault-kills-refused',
            sum(({ tally }) => tally.refused),
          ),
          none(
            'fault-kills-failed',
            sum(({ tally }) => tally.failures.length),
          ),
          none(
            'fault-kills-run-twice',
            sum(({ counted }) => (counted ? counted.runs - counted.texts : 0)),
          ),
        ],
        samples: outcomes,
        notes: all.flatMap(({ tally }) => tally.failures.slice(0, 3)),
      };
    },
  };
}

/** The same scope with a folder of its own in it: for a workspace beside another. */
function partOf(scope: Scope, name: string): Scope {
  const folder = join(scope.folder, name);
  mkdirSync(folder);
  return {
    folder,
    pinned: scope.pinned,
    start: (...args) => scope.start(...args),
    run: (...args) => scope.run(...args),
    defer: (end) => scope.defer(end),
  };
}

function neighboursBench(share: number): Bench {
  const order = { agents: 20, rounds: Math.max(3, Math.round(9 * share)), roundMs: 5_000, perSecond: 200 };
  return {
    name: 'fault-neighbours',
    about: 'calls of 17 agents beside one that is slow, one that is silent and one that is dead',
    goals: ['fault-neighbours-p99'],
    async run(scope) {
      const { rounds, failures } = await runNeighbours(scope, order);
      const rows = rounds.map(({ well, beside }, index) => {
        return [`round ${index + 1}`, well.p50, beside.p50, well.p99, beside.p99];
      });
      const ratio = medianRatio(
        rounds,
        ({ beside }) => beside.p99,
        ({ well }) => well.p99,
      );
      const columns = ['ms', 'p50, all well', 'p50, three ill', 'p99, all well', 'p99, three ill'];
      return {
        tables: [{ title: `${order.perSecond} calls a second`, columns, rows }],
        goals: [
          { name: 'fault-neighbours-p99', op: '<=', target: 1.2, unit: '×', value: ratio },
          none('fault-neighbours-failed', failures.length),
        ],
        samples: rounds,
        notes: failures.slice(0, 3),
      };
    },
  };
}

function churnBench(share: number): Bench {
  const order = { calls: Math.round(100_000 * share), changes: Math.round(1_000 * share), connections: 16 };
  return {
    name: 'fault-churn',
    about: `${order.changes} changes of Routes during ${order.calls} calls`,
    goals: ['fault-churn-failed'],
    async run(scope) {
      const outcome = await runChurn(scope, order);
      const { tally, changes, seconds, runs, texts, lastServedMs } = outcome;
      const row = [
        tally.done,
        changes,
        tally.failures.length + tally.lost,
        tally.done / seconds,
        tally.slowestMs,
      ];
      const columns = ['', 'calls', 'changes', 'failed', 'calls/s', 'slowest, ms'];
      return {
        tables: [{ title: 'Routes that come, change and go', columns, rows: [['churn', ...row]] }],
        goals: [
          none('fault-churn-failed', tally.failures.length + tally.lost + tally.refused),
          none('fault-churn-run-twice', runs - texts),
          { name: 'fault-churn-changes', op: '>=', target: order.changes, unit: '', value: changes },
        ],
        samples: outcome,
        notes: [
          `The last change was served after ${round(lastServedMs, 0)} ms.`,
          ...tally.failures.slice(0, 3),
        ],
      };
    },
  };
}
