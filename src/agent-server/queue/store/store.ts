import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Answer, Answers, Operation } from './operations.ts';
import { longestInline, openResultFiles, type ResultFiles } from './result-files.ts';
import { sumOf, type TaskRow, toTask } from './rows.ts';
import { migrate } from './schema.ts';
import { StoreError } from './store-error.ts';

const finished = "('completed', 'failed', 'cancelled')";

/** What tasks that ran when their process ended are told. */
export const interrupted = 'Task interrupted before completion (agent restart)';

/**
 * The queue's tables, for one process at a time. Calls block until the disk has said that it has what was written, so
 * it lives in a thread of its own.
 */
export class TaskStore {
  readonly #database: DatabaseSync;
  readonly #files: ResultFiles;
  readonly #statements = new Map<string, StatementSync>();
  /** Rows by what they count as. Kept here, because SQLite would count a whole backlog for every task. */
  #counts = { pending: 0, finished: 0 };
  /** Files of this transaction: those to remove if it fails, and those to remove once it has not. */
  #written: string[] = [];
  #dropped: string[] = [];

  /**
   * Opens the queue of a folder, makes it when there is none, and settles what ran when the last process ended.
   * Throws StoreError.
   */
  constructor(folder: string, now: number) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, 'tasks.sqlite');
    this.#database = openDatabase(path);
    this.#files = openResultFiles(join(folder, 'results'));
    guard(path, () => this.#recover(now));
  }

  /** Carries out all operations or, when it throws QueueUnavailable, none. On disk when this returns. */
  apply(operations: readonly Operation[]): Answer[] {
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      const answers = operations.map((operation) => this.#carryOut(operation));
      this.#database.exec('COMMIT');
      for (const file of this.#dropped) this.#files.remove(file);
      return answers;
    } catch (error) {
      this.#rollBack();
      throw failureOf(error);
    } finally {
      this.#written = [];
      this.#dropped = [];
    }
  }

  close(): void {
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    this.#database.close();
  }

  #carryOut(operation: Operation): Answer {
    switch (operation.type) {
      case 'add':
        return this.#add(operation);
      case 'lease':
        return this.#lease(operation.now);
      case 'settle':
        return this.#settle(operation);
      case 'release':
        return this.#release(operation);
      case 'cancel':
        return this.#cancel(operation);
      case 'get':
        return this.#find('id', operation.id);
      case 'list':
        return this.#list(operation);
    }
  }

  #add(operation: Extract<Operation, { type: 'add' }>): Answers['add'] {
    const { id, key, tool, payload, now } = operation;
    const known = key === null ? null : this.#find('key', key);
    if (known !== null) return known;
    if (this.#counts.pending >= operation.maxPending) return 'full';
    this.#counts.pending += 1;
    this.#prepare(
      `INSERT INTO tasks (id, key, tool, payload, priority, status, attempt, max_attempts, timeout_ms, created_at, updated_at, sum)
       VALUES (?, ?, ?, ?, ?, 'pending', 0, ?, ?, ?, ?, ?)`,
    ).run(
      ...[id, key, tool, payload, operation.priority, operation.maxAttempts, operation.timeoutMs],
      ...[now, now, sumOf(id, tool, payload)],
    );
    const log = { tail: '', sequence: 0, truncated: false };
    const { timeoutMs } = operation;
    const times = { createdAt: now, updatedAt: now };
    return {
      id,
      tool,
      payload,
      status: 'pending',
      timeoutMs,
      attempt: 0,
      ...times,
      error: null,
      result: null,
      log,
    };
  }

  #lease(now: number): Answers['lease'] {
    const row = this.#get(
      `UPDATE tasks SET status = 'running', attempt = attempt + 1, updated_at = ? WHERE seq =
       (SELECT seq FROM tasks WHERE status = 'pending' ORDER BY priority DESC, seq LIMIT 1) RETURNING *`,
      now,
    );
    if (row === undefined) return null;
    this.#counts.pending -= 1;
    return toTask(row as unknown as TaskRow, this.#files.read);
  }

  #settle(operation: Extract<Operation, { type: 'settle' }>): boolean {
    const { id, attempt, result, log } = operation;
    const holds = this.#get(
      "SELECT 1 FROM tasks WHERE id = ? AND status = 'running' AND attempt = ?",
      ...[id, attempt],
    );
    if (holds === undefined) return false;
    const isLong = result !== null && Buffer.byteLength(result) > longestInline;
    const file = isLong ? this.#files.write(id, attempt, result) : null;
    if (file !== null) this.#written.push(file);
    this.#prepare(
      `UPDATE tasks SET status = ?, error = ?, result = ?, result_file = ?, log_tail = ?, log_sequence = ?,
       log_truncated = ?, updated_at = ? WHERE id = ?`,
    ).run(
      ...[operation.status, operation.error, isLong ? null : result, file],
      ...[log.tail, log.sequence, log.truncated ? 1 : 0, operation.now, id],
    );
    this.#counts.finished += 1;
    this.#forgetOldest(operation.maxFinished);
    return true;
  }

  #release({ id, attempt, now }: Extract<Operation, { type: 'release' }>): boolean {
    const { changes } = this.#prepare(
      "UPDATE tasks SET status = 'pending', updated_at = ? WHERE id = ? AND status = 'running' AND attempt = ?",
    ).run(now, id, attempt);
    this.#counts.pending += Number(changes);
    return changes > 0;
  }

  #cancel({ id, maxFinished, now }: Extract<Operation, { type: 'cancel' }>): Answers['cancel'] {
    const row = this.#get('SELECT status FROM tasks WHERE id = ?', id);
    if (row === undefined) return 'unknown';
    if (row['status'] === 'running') return 'cancelling';
    if (row['status'] !== 'pending') return 'finished';
    this.#prepare("UPDATE tasks SET status = 'cancelled', updated_at = ? WHERE id = ?").run(now, id);
    this.#counts.pending -= 1;
    this.#counts.finished += 1;
    this.#forgetOldest(maxFinished);
    return 'cancelled';
  }

  #find(column: 'id' | 'key', value: string): Answers['get'] {
    const row = this.#get(`SELECT * FROM tasks WHERE ${column} = ?`, value);
    return row === undefined ? null : toTask(row as unknown as TaskRow, this.#files.read);
  }

  #list({ status, limit }: Extract<Operation, { type: 'list' }>): Answers['list'] {
    const rows =
      status === null
        ? this.#prepare('SELECT * FROM tasks ORDER BY seq LIMIT ?').all(limit)
        : this.#prepare('SELECT * FROM tasks WHERE status = ? ORDER BY seq LIMIT ?').all(status, limit);
    return rows.map((row) => toTask(row as unknown as TaskRow, this.#files.read));
  }

  #forgetOldest(kept: number): void {
    const many = this.#counts.finished - kept;
    if (many <= 0) return;
    const gone = this.#prepare(
      `DELETE FROM tasks WHERE seq IN (SELECT seq FROM tasks WHERE status IN ${finished}
       ORDER BY updated_at, seq LIMIT ?) RETURNING result_file`,
    ).all(many);
    this.#counts.finished -= gone.length;
    for (const { result_file: file } of gone) if (typeof file === 'string') this.#dropped.push(file);
  }

  #count(): void {
    const row = this.#get(
      `SELECT count(*) FILTER (WHERE status = 'pending') AS pending,
       count(*) FILTER (WHERE status IN ${finished}) AS finished FROM tasks`,
    );
    this.#counts = { pending: Number(row?.['pending']), finished: Number(row?.['finished']) };
  }

  /** Tasks that ran when the process ended run again while their policy allows it; else that is their end. */
  #recover(now: number): void {
    this.#database.exec('BEGIN IMMEDIATE');
    this.#prepare(
      "UPDATE tasks SET status = 'pending', updated_at = ? WHERE status = 'running' AND attempt < max_attempts",
    ).run(now);
    this.#prepare(
      "UPDATE tasks SET status = 'failed', error = ?, updated_at = ? WHERE status = 'running'",
    ).run(...[interrupted, now]);
    this.#database.exec('COMMIT');
    this.#count();
    const rows = this.#prepare('SELECT result_file FROM tasks WHERE result_file IS NOT NULL').all();
    this.#files.sweep(new Set(rows.map(({ result_file: file }) => String(file))));
  }

  #rollBack(): void {
    // A failed COMMIT may have ended the transaction by itself.
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
    for (const file of this.#written) this.#files.remove(file);
    this.#count();
  }

  #get(sql: string, ...values: (string | number | null)[]): Record<string, unknown> | undefined {
    return this.#prepare(sql).get(...values);
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#database.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

function openDatabase(path: string): DatabaseSync {
  return guard(path, () => {
    const database = new DatabaseSync(path);
    try {
      // One process at a time: a second one is told so, instead of running the same tasks.
      database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      const checked = database.prepare('PRAGMA quick_check(1)').get();
      if (checked?.['quick_check'] !== 'ok') throw damaged(path, String(checked?.['quick_check']));
      migrate(database, path);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** Runs `open`; what SQLite throws is said in words. */
function guard<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const code = sqliteCode(error);
    if (code === 11 || code === 26) throw damaged(path, messageOf(error), error);
    if (code === 5) {
      throw new StoreError('QueueInUse', `${path} is in use by another process`, {
        cause: error,
        remedy: 'End the other agent-server of this workspace first.',
      });
    }
    throw failureOf(error);
  }
}

function damaged(path: string, problem: string, cause?: unknown): StoreError {
  return new StoreError('QueueDamaged', `${path} is damaged: ${problem}`, {
    cause,
    remedy:
      'Save what can be read of it with the repair command, or move the file away to begin with an empty queue.',
  });
}

function failureOf(error: unknown): Error {
  if (error instanceof StoreError) return error;
  const code = sqliteCode(error);
  if (code === undefined && codeOf(error) === undefined)
    return error instanceof Error ? error : new Error(String(error));
  if (code === 11 || code === 26) {
    return new StoreError('QueueDamaged', `the queue is damaged: ${messageOf(error)}`, { cause: error });
  }
  return new StoreError('QueueUnavailable', `the queue cannot be written: ${messageOf(error)}`, {
    cause: error,
    remedy: 'Make room on the disk of the workspace; the queue goes on by itself.',
  });
}

/** Primary result code of SQLite; see sqlite.org/rescode.html. */
function sqliteCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
