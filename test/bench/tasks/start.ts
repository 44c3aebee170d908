import { join } from 'node:path';
import { ensureBundles } from '#main/bundle.ts';
import { bundle } from '../harness/agent-server.ts';
import type { Bench, BenchResult } from '../harness/bench.ts';
import { checkout, lineOf } from '../harness/scope.ts';
import { ascending, percentile } from '../harness/stats.ts';
import { diskFolder } from './medium.ts';

/** Milliseconds each. */
export interface StartTimes {
  /** From the order to the spawner until the first byte that the process wrote. */
  readonly spawned: readonly number[];
  /** From the request to enqueue it until the same byte, in an idle queue. */
  readonly enqueued: readonly number[];
  /** From that request until the task was on disk. */
  readonly acknowledged: readonly number[];
}

const calls = 400;

/** What the queue adds to the start of a process: enqueued on disk, leased on disk, started by the same spawner. */
export const taskStart: Bench = {
  name: 'task-start',
  about: 'from enqueueing to a process of the task, in an idle queue, beside a start without the queue',
  goals: ['P11-added-p50-ms'],
  async run(scope) {
    await ensureBundles(checkout, () => undefined);
    const script = join(import.meta.dirname, 'programs/start-run.ts');
    const args = [join(diskFolder(scope), 'queue'), bundle, String(calls)];
    const { process: child } = scope.start(script, args);
    return judge(JSON.parse(await lineOf(child, 'result ', 60_000)) as StartTimes);
  },
};

function judge(times: StartTimes): BenchResult {
  const sorted = {
    spawned: times.spawned.toSorted(ascending),
    enqueued: times.enqueued.toSorted(ascending),
    acknowledged: times.acknowledged.toSorted(ascending),
  };
  const row = (title: string, name: keyof StartTimes) => [
    title,
    ...[0.5, 0.9, 0.99].map((fraction) => percentile(sorted[name], fraction)),
  ];
  return {
    tables: [
      {
        title: `${calls} of each, taking turns, one at a time`,
        columns: ['ms', 'p50', 'p90', 'p99'],
        rows: [
          row('spawner → first byte of the process', 'spawned'),
          row('enqueue → first byte of the process', 'enqueued'),
          row('enqueue → on disk', 'acknowledged'),
        ],
      },
    ],
    goals: [
      {
        name: 'P11-added-p50-ms',
        op: '<=',
        target: 1,
        unit: 'ms',
        value: percentile(sorted.enqueued, 0.5) - percentile(sorted.spawned, 0.5),
      },
    ],
    samples: times,
  };
}
