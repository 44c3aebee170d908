import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { messageOf } from '#kit/errors.ts';
import type { TaskRow } from '../store/rows.ts';
import { stateSumOfRow, sumOf } from '../store/rows.ts';
import { migrate } from '../store/schema.ts';
import { StoreError } from '../store/store-error.ts';
import { isInUse } from './check-files.ts';
import { imageOf } from './image.ts';
import { leafRows } from './leaf-rows.ts';
import { type LogReading, readLog } from './log-file.ts';
import { moveIn, repairedFolder, syncPath } from './move-in.ts';
import { type Row, type Salvage, salvageTasks } from './salvage.ts';

export interface RepairReport {
  /** Tasks that are in the new file. */
  readonly kept: number;
  readonly keptByStatus: Readonly<Record<string, number>>;
  /** Ids of tasks that were there and cannot be read. */
  readonly lostIds: readonly string[];
  /** Places of the file in which there was, or may have been, a task that cannot be read. */
  readonly unreadable: number;
  /** Ids of tasks that are kept without their results. */
  readonly withoutResult: readonly string[];
  /** Ids of tasks of which only the order could be read: they are kept as failed. */
  readonly withoutState: readonly string[];
  readonly log: LogReading['state'];
  /** Where the damaged files are now. */
  readonly damagedFolder: string;
}

const fileOf = (folder: string) => join(folder, 'tasks.sqlite');

/**
 * Puts what can be read of the queue in `folder` into a new one, which takes its place; the damaged one is moved to a
 * folder beside it, named after `now` (milliseconds since the epoch). Ended half-way it goes on where it was the next
 * time. Throws StoreError QueueInUse while an agent-server has the queue open, QueueUnavailable when there is none.
 */
export function repairQueue(folder: string, now: number): RepairReport {
  const path = fileOf(folder);
  const done = repairedFolder(folder);
  if (![path, `${path}-wal`, join(folder, 'results'), done].some((one) => existsSync(one))) {
    throw new StoreError('QueueUnavailable', `there is no queue in ${folder}`, {
      remedy: 'Name the folder .tasksQueue of an agent’s workspace.',
    });
  }
  if (existsSync(path)) refuseInUse(path);
  if (!existsSync(done)) {
    const part = `${done}.part`;
    rmSync(part, { recursive: true, force: true });
    const report = writeRepaired(folder, part, now);
    writeFileSync(join(part, 'report.json'), JSON.stringify(report));
    for (const name of ['report.json', 'tasks.sqlite', 'results', '.']) syncPath(join(part, name));
    renameSync(part, done);
    syncPath(folder);
  }
  const report = JSON.parse(readFileSync(join(done, 'report.json'), 'utf8')) as RepairReport;
  return { ...report, damagedFolder: moveIn(folder, now) };
}

function refuseInUse(path: string): void {
  if (!isInUse(path)) return;
  throw new StoreError('QueueInUse', `${path} is in use by another process`, {
    remedy: 'End the agent first; a queue is repaired while nobody has it open.',
  });
}

function writeRepaired(folder: string, part: string, now: number): Omit<RepairReport, 'damagedFolder'> {
  mkdirSync(join(part, 'results'), { recursive: true, mode: 0o700 });
  const fresh = openFresh(fileOf(part));
  try {
    const freshFile = readFileSync(fileOf(part));
    const log = readIfThere(`${fileOf(folder)}-wal`);
    const reading = readLog(log);
    const image = imageOf(readIfThere(fileOf(folder)), log, reading, freshFile);
    const firstPage = freshFile.subarray(0, reading.pageSize);
    const salvage = readImage(join(part, 'image'), image, { firstPage, columns: columnsOf(fresh) });
    const withoutResult: string[] = [];
    const withoutState: string[] = [];
    const kept = insertRows(fresh, salvage.rows, (row) => {
      const known = withState(row, now);
      if (known !== row) withoutState.push(String(row['id']));
      const whole = withResult(known, join(folder, 'results'), join(part, 'results'));
      if (whole !== known) withoutResult.push(String(row['id']));
      const readable = withReadableNumbers(whole);
      return { ...readable, state_sum: stateSumOfRow(readable) };
    });
    const { lostIds, unreadable } = salvage;
    return { ...countByStatus(kept), lostIds, unreadable, withoutResult, withoutState, log: reading.state };
  } finally {
    fresh.close();
  }
}

function openFresh(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA synchronous = FULL');
  migrate(database, path);
  return database;
}

interface FreshFile {
  readonly firstPage: Buffer;
  readonly columns: readonly string[];
}

/** With its own first page, or, when that names no tasks any more, with one of a new file. */
function readImage(path: string, image: Buffer, { firstPage, columns }: FreshFile): Salvage {
  const read = () => {
    writeFileSync(path, image);
    const database = new DatabaseSync(path);
    try {
      return salvageTasks(database, isWhole, leafRows(image, firstPage.length, columns));
    } finally {
      database.close();
      for (const end of ['', '-journal', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true });
    }
  };
  try {
    return read();
  } catch {
    // Where tables begin is the same in every file of this program.
    firstPage.copy(image, 100, 100);
    return read();
  }
}

function columnsOf(database: DatabaseSync): string[] {
  const known = database.prepare("SELECT name FROM pragma_table_info('tasks')").all();
  return known.map(({ name }) => String(name));
}

function isWhole(row: Row): boolean {
  const { id, tool, payload, sum } = row as unknown as TaskRow;
  const isText = [id, tool, payload].every((value) => typeof value === 'string');
  return isText && sumOf(id, tool, payload) === sum;
}

/** Rows that contradict one already there are left out: an older state of the same task. */
function insertRows(fresh: DatabaseSync, rows: readonly Row[], prepare: (row: Row) => Row): Row[] {
  const columns = columnsOf(fresh);
  const kept: Row[] = [];
  fresh.exec('BEGIN');
  for (const row of rows) {
    const names = columns.filter((name) => row[name] !== undefined);
    const places = names.map(() => '?').join(', ');
    const insert = fresh.prepare(`INSERT OR IGNORE INTO tasks (${names.join(', ')}) VALUES (${places})`);
    const ready = prepare(row);
    if (insert.run(...names.map((name) => ready[name] ?? null)).changes > 0) kept.push(ready);
  }
  fresh.exec('COMMIT');
  return kept;
}

/** The row as it is, or, when what became of it is not what was written, as one that was interrupted. */
function withState(row: Row, now: number): Row {
  if (stateSumOfRow(row) === row['state_sum']) return row;
  const { seq = null, id = null, tool = null, payload = null, sum = null } = row;
  return {
    ...{ seq, id, tool, payload, sum },
    ...{
      key: null,
      owner: null,
      priority: 1,
      status: 'failed',
      attempt: 1,
      lost: 0,
      retries: 0,
      cancelling: 0,
    },
    ...{ created_at: now, updated_at: now, finished_at: now, kept_since: now, bytes: String(payload).length },
    ...{ reason: 'Interrupted', error: 'What became of it was lost with a damaged queue' },
    ...{ log_tail: '', log_sequence: 0, log_truncated: 0 },
  };
}

/** Without limits of time that are larger than a number that can be read back. */
function withReadableNumbers(row: Row): Row {
  const isUnsafe = (name: string) => typeof row[name] === 'number' && !Number.isSafeInteger(row[name]);
  const unsafe = ['timeout_ms', 'ttl_ms', 'forget_at'].filter(isUnsafe);
  return { ...row, ...Object.fromEntries(unsafe.map((name) => [name, null])) };
}

/** The row as it is, with its result's file copied, or without the result when that is not what was written. */
function withResult(row: Row, from: string, to: string): Row {
  const { result_file: name, result, result_sum: sum } = row;
  try {
    if (typeof name === 'string') {
      if (crc32(readFileSync(join(from, name))) !== sum) throw new Error('it is not what was written');
      cpSync(join(from, name), join(to, name));
      syncPath(join(to, name));
    } else if (typeof result === 'string' && crc32(result) !== sum) {
      throw new Error('it is not what was written');
    }
    return row;
  } catch (error) {
    const problem = `Its result was lost: ${messageOf(error)}`;
    const nothing = { result: null, result_file: null, result_sum: null };
    return { ...row, ...nothing, error: row['error'] ?? problem };
  }
}

function countByStatus(rows: readonly Row[]): Pick<RepairReport, 'kept' | 'keptByStatus'> {
  const keptByStatus: Record<string, number> = {};
  for (const { status } of rows) keptByStatus[String(status)] = (keptByStatus[String(status)] ?? 0) + 1;
  return { kept: rows.length, keptByStatus };
}

function readIfThere(path: string): Buffer {
  return existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
}
