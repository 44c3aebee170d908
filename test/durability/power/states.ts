import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createTaskQueue } from '#agent-server/queue/durable-queue.ts';
import type { Lease, TaskQueue } from '#agent-server/queue/queue.ts';
import { defaultLimits } from '#agent-server/queue/store/operations.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import { dumpOf } from './dump.ts';

/** What a disk holds of a queue at a moment, and what it must give. */
export interface DiskState {
  readonly name: string;
  readonly database: Buffer;
  readonly log: Buffer;
  readonly results: ReadonlyMap<string, Buffer>;
  /** Length of the log after each transaction that was acknowledged, in their order. */
  readonly commits: readonly number[];
  /** What a program that starts then finds: before the first of these transactions, after it, and so on. */
  readonly truths: readonly string[];
}

const thread = new URL('../programs/store-thread.ts', import.meta.url);

/** Everything that happens to tasks, once in a log, once in a database, once in both. */
export async function makeStates(place: string): Promise<DiskState[]> {
  const states: DiskState[] = [];
  for (const [name, split] of [
    ['in the log', 'none'],
    ['in the database', 'all'],
    ['in both', 'half'],
  ] as const) {
    const folder = join(place, `make-${split}`);
    if (split !== 'none') await work(folder, 0, split === 'all' ? 40 : 20);
    const before = readState(folder);
    const commits = split === 'all' ? [] : await work(folder, 100, 30);
    const { database, log, results } = split === 'all' ? before : readState(`${folder}.killed`);
    const state = { name, database, log, results, commits: commits.filter((length) => length <= log.length) };
    states.push({ ...state, ...withTruths(place, state, split === 'none') });
  }
  return states;
}

/**
 * Orders tasks and ends some, one transaction after the other, and returns the length of the log after each. What is
 * on disk at the end, before it is closed, is copied to `<folder>.killed`.
 */
async function work(folder: string, first: number, count: number): Promise<number[]> {
  const log = join(folder, 'tasks.sqlite-wal');
  const lengths: number[] = [];
  const queue = createTaskQueue({
    folder,
    imports: [],
    limits: { ...defaultLimits, maxPending: 1_000 },
    startThread: (workerData) => new Worker(thread, { workerData }),
    log: silentLog,
    clock: { ...systemClock, now: () => 2_000 },
    random: systemRandom,
    logTailBytes: () => 2_000,
  });
  const note = () => lengths.push(existsSync(log) ? statSync(log).size : 0);
  note();
  const held: Lease[] = [];
  for (let number = first; number < first + count; number += 1) {
    await queue.enqueue({
      ...{ toolName: `tool${number % 3}`, key: `k${number}`, retries: number % 2 },
      payload: { number, text: 'abcdefghij'.repeat(number % 9 === 4 ? 700 : 1 + (number % 17)) },
    });
    note();
    if (number % 3 !== 2) continue;
    const lease = await queue.lease();
    if (lease === undefined) continue;
    note();
    held.push(lease);
    if (number % 2 === 0) await endOne(queue, held, number).then(note);
  }
  copyState(folder, `${folder}.killed`);
  await queue.close();
  return lengths;
}

async function endOne(queue: TaskQueue, held: Lease[], number: number): Promise<void> {
  const lease = held.shift();
  if (lease === undefined) return;
  queue.progress(lease, Buffer.from(`log of ${number}\n`.repeat(number % 40)));
  const text = 'z'.repeat(number % 12 === 8 ? 80_000 : number * 3);
  const result = { content: [{ type: 'text', text }] };
  if (number % 4 === 0) await queue.settle(lease, { status: 'completed', result, exitCode: 0 });
  else await queue.settle(lease, { status: 'failed', error: 'it failed', exitCode: 3, result });
}

/** With what a start finds after each transaction, read from a copy whose log ends there; some change nothing. */
function withTruths(
  place: string,
  state: Omit<DiskState, 'truths'>,
  hasNothingBefore: boolean,
): Pick<DiskState, 'commits' | 'truths'> {
  const ends = state.commits.length === 0 ? [state.log.length] : state.commits;
  const found = ends.map((end, index) => {
    const folder = join(place, `truth-${state.name.replaceAll(' ', '-')}-${index}`);
    writeState(folder, { ...state, log: state.log.subarray(0, end) });
    return { end, dump: dumpOf(folder).dump };
  });
  const changes = found.filter(({ dump }, index) => dump !== found[index - 1]?.dump);
  if (new Set(changes.map(({ dump }) => dump)).size < changes.length) throw new Error('a state came back');
  if (hasNothingBefore && changes[0]?.dump !== '[]') throw new Error('there was something before');
  const truths = changes.map(({ dump }) => dump);
  return { truths, commits: state.commits.length === 0 ? [] : changes.map(({ end }) => end) };
}

export function writeState(folder: string, { database, log, results }: Omit<DiskState, 'truths'>): void {
  mkdirSync(join(folder, 'results'), { recursive: true });
  writeFileSync(join(folder, 'tasks.sqlite'), database);
  if (log.length > 0) writeFileSync(join(folder, 'tasks.sqlite-wal'), log);
  for (const [name, bytes] of results) writeFileSync(join(folder, 'results', name), bytes);
}

function readState(folder: string): Pick<DiskState, 'database' | 'log' | 'results'> {
  const read = (name: string) =>
    existsSync(join(folder, name)) ? readFileSync(join(folder, name)) : undefined;
  const names = existsSync(join(folder, 'results')) ? readdirSync(join(folder, 'results')) : [];
  return {
    database: read('tasks.sqlite') ?? Buffer.alloc(0),
    log: read('tasks.sqlite-wal') ?? Buffer.alloc(0),
    results: new Map(names.map((name) => [name, readFileSync(join(folder, 'results', name))])),
  };
}

function copyState(from: string, to: string): void {
  mkdirSync(join(to, 'results'), { recursive: true });
  for (const name of readdirSync(from).filter((each) => each.startsWith('tasks.sqlite'))) {
    copyFileSync(join(from, name), join(to, name));
  }
  for (const name of readdirSync(join(from, 'results'))) {
    copyFileSync(join(from, 'results', name), join(to, 'results', name));
  }
}
