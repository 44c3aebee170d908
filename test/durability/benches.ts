import type { Bench, Goal } from '../bench/harness/bench.ts';
import { CannotRun } from '../bench/harness/bench.ts';
import { type DiskOutcome, type Fault, runDisk } from './disk/disk-run.ts';
import { type KillOrder, runKills } from './kills/kill-run.ts';
import { runPower } from './power/power-run.ts';
import { failpointsOf } from './programs/failpoints.ts';

export interface DurabilityOptions {
  /** So much of everything, up to 1. */
  readonly share: number;
  readonly seed: number;
}

/** What the queue of tasks bears. */
export function durabilityBenches(options: DurabilityOptions): Bench[] {
  return [
    killBench(options),
    serverKillBench(options),
    powerBench(options),
    diskBench('full'),
    diskBench('flush'),
  ];
}

const none = (name: string, value: number): Goal => ({ name, op: '<=', target: 0, unit: '', value });
const atLeast = (name: string, target: number, value: number): Goal => {
  return { name, op: '>=', target, unit: '', value };
};

function killBench({ share, seed }: DurabilityOptions): Bench {
  return killsOf('kills', 'a queue', { kills: 220, tasks: 20_000, seed, program: 'queue-program' }, share);
}

function serverKillBench({ share, seed }: DurabilityOptions): Bench {
  const order = { kills: 60, tasks: 3_000, seed, program: 'server-program' } as const;
  return killsOf('server-kills', 'an agent-server', order, share);
}

function killsOf(name: string, what: string, whole: KillOrder, share: number): Bench {
  const kills = Math.max(20, Math.round(whole.kills * share));
  const tasks = Math.max(600, Math.round(whole.tasks * share));
  const points = failpointsOf(whole.program);
  return {
    name,
    about: `${kills} kills of ${what} that works on ${tasks} tasks: at random times, and at ${points.length} points`,
    goals: [`${name}-problems`, `${name}-count`, `${name}-tasks`],
    longestMs: 3_600_000,
    async run() {
      const outcome = await runKills({ ...whole, kills, tasks });
      const starts = outcome.startsMs.toSorted((left, right) => left - right);
      const [median = 0, longest = 0] = [starts[starts.length >> 1], starts.at(-1)];
      return {
        tables: [
          {
            title: `${outcome.acked} tasks were acknowledged, ${outcome.starts} executions begun`,
            columns: ['', 'kills'],
            rows: Object.entries(outcome.where).map(([where, count]) => [where, count]),
          },
        ],
        goals: [
          none(`${name}-problems`, outcome.problems.length),
          { name: `${name}-most-run-again`, op: '<=', target: 10, unit: '', value: outcome.mostRerun },
          atLeast(`${name}-count`, kills, outcome.kills),
          atLeast(`${name}-tasks`, tasks, outcome.acked),
          atLeast(`${name}-points`, points.length, points.filter((point) => outcome.where[point]).length),
        ],
        samples: outcome,
        notes: [
          `--seed ${whole.seed} repeats it. ${outcome.rerun} executions ran again, at most ${outcome.mostRerun} after one kill.`,
          `${outcome.interrupted} tasks that may not run twice were given up, as they must.`,
          `It took orders again after ${Math.round(median)} ms (median), ${Math.round(longest)} ms (longest).`,
          ...(outcome.left === undefined ? [] : [`Without kills inside of writes: ${outcome.left}.`]),
          ...outcome.problems.slice(0, 20),
        ],
      };
    },
  };
}

function powerBench({ share, seed }: DurabilityOptions): Bench {
  return {
    name: 'power',
    about: 'files of a queue that are cut, have turned bits, or lack sectors, as after a power loss',
    goals: ['power-problems', 'power-cases'],
    longestMs: 3_600_000,
    async run() {
      const outcome = await runPower({ seed, share, repairEvery: 10 });
      return {
        tables: [
          {
            title: `${outcome.cases} cases`,
            columns: ['', 'cases'],
            rows: Object.entries(outcome.borne).sort(([left], [right]) => (left < right ? -1 : 1)),
          },
        ],
        goals: [
          none('power-problems', outcome.problems.length),
          atLeast('power-cases', Math.round(10_000 * share), outcome.cases),
        ],
        samples: outcome,
        notes: [
          `--seed ${seed} repeats it. ${outcome.repaired} were repaired, ${outcome.repairedWhole} of them without any loss.`,
          ...outcome.problems.slice(0, 20),
        ],
      };
    },
  };
}

function diskBench(fault: Fault): Bench {
  const what = { full: 'a disk of 8 MiB that is full', flush: 'a disk that fails to flush' }[fault];
  return {
    name: `disk-${fault}`,
    about: `a queue that works on ${what} for a while`,
    goals: [`disk-${fault}-lost`, `disk-${fault}-recovery`],
    async run() {
      const outcome = await runDisk(fault);
      if ('missing' in outcome) throw new CannotRun(outcome.missing);
      return {
        tables: [tableOf(outcome)],
        goals: [
          none(`disk-${fault}-lost`, outcome.lost + outcome.lostIfKilled),
          none(`disk-${fault}-refused-and-kept`, outcome.ghosts + outcome.ghostsIfKilled),
          none(`disk-${fault}-unfinished`, outcome.unfinished + outcome.running + outcome.pending),
          none(`disk-${fault}-run-twice`, outcome.ranTwice),
          { name: `disk-${fault}-recovery`, op: '<=', target: 5_000, unit: 'ms', value: outcome.recoveredMs },
        ],
        samples: outcome,
        notes: Object.entries(outcome.refusals).map(([told, count]) => `${count} × ${told}`),
      };
    },
  };
}

function tableOf(outcome: DiskOutcome) {
  return {
    title: 'while it fails, and after that',
    columns: ['', 'acknowledged', 'refused', 'slowest refusal, ms', 'orders again, ms', 'all done, ms'],
    rows: [
      [
        'tasks',
        ...[outcome.acked.length, outcome.refused, outcome.slowestRefusalMs],
        ...[outcome.recoveredMs, outcome.doneMs],
      ],
    ],
  };
}
