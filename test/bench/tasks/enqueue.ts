import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { messageOf } from '#kit/errors.ts';
import type { Bench, BenchResult } from '../harness/bench.ts';
import { requirePeers, type Scope } from '../harness/scope.ts';
import { median, medianRatio } from '../harness/stats.ts';
import { diskFolder } from './medium.ts';
import { type AddOutcome, startWriter, type WriterProcess } from './writer-process.ts';
import type { WriterName } from './writers/writer.ts';

const rounds = 6;
const producers = 64;
/** Tasks of one slice. */
const slice = 16_000;
const backlog = 100_000;
/** Tasks of one slice of those who flush once a task. */
const singleSlice = 3_000;

type Single = Exclude<WriterName, 'durable'>;

interface Round {
  readonly empty: AddOutcome;
  readonly behind: AddOutcome;
  readonly alone: AddOutcome;
  readonly singles: Partial<Record<Single, AddOutcome>>;
}

const titles: Record<Single, string> = {
  plain: 'plain SQLite (node:sqlite, WAL, FULL), a commit a task',
  flushes: 'a line appended and flushed (fdatasync) a task',
  plainjob: 'plainjob, its own settings but FULL',
  liteque: 'liteque, its own settings but FULL',
};

/** What is acknowledged is on disk: how many a second, beside one commit a task and other queues of one process. */
export const taskEnqueue: Bench = {
  name: 'task-enqueue',
  about: 'durable enqueueing with 64 producers, beside plain SQLite and other queues on the same disk',
  goals: ['P10-per-second', 'P10-p99-ms', 'P10-over-plain-sqlite', 'P10-behind-backlog'],
  async run(scope) {
    const folder = diskFolder(scope);
    const queue = startWriter(scope, 'durable');
    const notes: string[] = [];
    const singles = await openSingles(scope, folder, notes);
    const full = join(folder, 'full');
    await queue.open(full);
    await queue.add(full, backlog, 256);
    const taken: Round[] = [];
    for (let index = 0; index < rounds; index += 1) {
      taken.push(await measureRound({ queue, singles, folder, full, index }));
    }
    await queue.close(full);
    const acknowledged = 1 + backlog + rounds * slice;
    if (countTasks(full) !== acknowledged) {
      throw new Error(`${countTasks(full)} tasks are on disk, ${acknowledged} were acknowledged`);
    }
    const [, ...counted] = taken;
    return judge(counted, notes);
  },
};

/** Opens those that can be had here; of the others a note says why not. */
async function openSingles(
  scope: Scope,
  folder: string,
  notes: string[],
): Promise<ReadonlyMap<Single, WriterProcess>> {
  const opened = new Map<Single, WriterProcess>();
  for (const name of Object.keys(titles) as Single[]) {
    try {
      const peers = name === 'plain' || name === 'flushes' ? '' : requirePeers();
      const writer = startWriter(scope, name, peers);
      await writer.open(join(folder, name));
      opened.set(name, writer);
    } catch (error) {
      if (name === 'plain') throw error;
      notes.push(`Not measured: ${titles[name]}: ${messageOf(error)}`);
    }
  }
  return opened;
}

interface Stage {
  readonly queue: WriterProcess;
  readonly singles: ReadonlyMap<Single, WriterProcess>;
  readonly folder: string;
  readonly full: string;
  readonly index: number;
}

/** All take turns; whether the empty or the full queue comes first changes from round to round. */
async function measureRound({ queue, singles, folder, full, index }: Stage): Promise<Round> {
  const empty = join(folder, `empty-${index}`);
  const fill = (one: string) => queue.add(one, slice, producers);
  await queue.open(empty);
  const isEven = index % 2 === 0;
  const first = await fill(isEven ? empty : full);
  const second = await fill(isEven ? full : empty);
  const alone = await queue.add(empty, singleSlice, 1);
  await queue.close(empty);
  if (countTasks(empty) !== 1 + slice + singleSlice)
    throw new Error('not everything acknowledged is on disk');
  rmSync(empty, { recursive: true });
  const taken: Partial<Record<Single, AddOutcome>> = {};
  for (const [name, writer] of singles) taken[name] = await writer.add(join(folder, name), singleSlice, 1);
  return {
    empty: isEven ? first : second,
    behind: isEven ? second : first,
    alone,
    singles: taken,
  };
}

/** Read by somebody else than the queue. */
function countTasks(folder: string): number {
  const database = new DatabaseSync(join(folder, 'tasks.sqlite'), { readOnly: true });
  try {
    return Number(database.prepare('SELECT count(*) AS count FROM tasks').get()?.['count']);
  } finally {
    database.close();
  }
}

function judge(taken: readonly Round[], notes: readonly string[]): BenchResult {
  const of = (pick: (round: Round) => AddOutcome | undefined, field: keyof AddOutcome) =>
    median(taken.map((round) => pick(round)?.[field] ?? Number.NaN));
  const row = (title: string, pick: (round: Round) => AddOutcome | undefined) => [
    title,
    ...(['perSecond', 'p50', 'p99', 'max', 'micros'] as const).map((field) => of(pick, field)),
  ];
  const names = (Object.keys(titles) as Single[]).filter((name) => taken[0]?.singles[name] !== undefined);
  const rate = (outcome: AddOutcome | undefined) => outcome?.perSecond ?? Number.NaN;
  const ratio = (top: (round: Round) => number, bottom: (round: Round) => number) =>
    medianRatio(taken, top, bottom);
  const overPlain = ratio(
    ({ empty }) => empty.perSecond,
    ({ singles }) => rate(singles.plain),
  );
  const behind = ratio(
    (round) => round.behind.perSecond,
    ({ empty }) => empty.perSecond,
  );
  return {
    tables: [
      {
        title: `${taken.length} rounds; ${slice.toLocaleString('en-US')} tasks with ${producers} producers, ${singleSlice.toLocaleString('en-US')} with one`,
        columns: ['medians', 'tasks/s', 'p50 ms', 'p99 ms', 'max ms', 'CPU µs'],
        rows: [
          row(`the queue, ${producers} producers, from empty`, ({ empty }) => empty),
          row(
            `the queue, ${producers} producers, ${backlog / 1000},000 and more wait`,
            (round) => round.behind,
          ),
          row('the queue, one producer', ({ alone }) => alone),
          ...names.map((name) => row(titles[name], ({ singles }) => singles[name])),
        ],
      },
    ],
    goals: [
      {
        name: 'P10-per-second',
        op: '>=',
        target: 20_000,
        unit: '/s',
        value: of(({ empty }) => empty, 'perSecond'),
      },
      { name: 'P10-p99-ms', op: '<=', target: 5, unit: 'ms', value: of(({ empty }) => empty, 'p99') },
      { name: 'P10-over-plain-sqlite', op: '>=', target: 3, unit: '×', value: overPlain },
      { name: 'P10-behind-backlog', op: '>=', target: 0.9, unit: '×', value: behind },
    ],
    samples: { rounds: taken },
    notes: [
      'What a flush costs depends on the disk and on what is between it and this machine: ratios travel, rates do not.',
      ...notes,
    ],
  };
}
