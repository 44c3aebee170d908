import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { codeOf, messageOf } from '#kit/errors.ts';
import { migrate } from './schema.ts';
import { StoreError } from './store-error.ts';

/** One file of SQLite, for one process at a time, every statement of which is prepared once. */
export class Database {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  /** Makes the file when there is none. Throws StoreError. */
  constructor(path: string) {
    this.path = path;
    this.#database = openDatabase(path);
  }

  get(sql: string, ...values: SQLInputValue[]): unknown {
    return this.#prepare(sql).get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): unknown[] {
    return this.#prepare(sql).all(...values);
  }

  iterate(sql: string, ...values: SQLInputValue[]): Iterable<unknown> {
    return this.#prepare(sql).iterate(...values);
  }

  /** Rows that it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  begin(): void {
    this.#prepare('BEGIN IMMEDIATE').run();
  }

  /** On disk when this returns. */
  commit(): void {
    this.#prepare('COMMIT').run();
  }

  rollBack(): void {
    // A failed COMMIT may have ended the transaction by itself.
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
  }

  /** Carries the log over into the file and gives its room back, as far as that can be done. */
  checkpoint(): void {
    try {
      this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    } catch {
      // The log stays as it is, and is read at the next start.
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
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
export function guard<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const code = sqliteCode(error);
    if (isDamage(code)) throw damaged(path, messageOf(error), error);
    if (code === 5) {
      throw new StoreError('QueueInUse', `${path} is in use by another process`, {
        cause: error,
        remedy: 'End the other agent-server of this workspace first.',
      });
    }
    throw failureOf(error, path);
  }
}

export function damaged(path: string, problem: string, cause?: unknown): StoreError {
  const folder = path.slice(0, path.lastIndexOf('/'));
  return new StoreError('QueueDamaged', `${path} is damaged: ${problem}`, {
    cause,
    remedy: `Save what can be read of it with \`agent-server.mjs repair-queue --folder ${folder}\`, or move the folder away to begin with an empty queue.`,
  });
}

export function failureOf(error: unknown, path: string): Error {
  if (error instanceof StoreError) return error;
  const code = sqliteCode(error);
  if (code === undefined && codeOf(error) === undefined)
    return error instanceof Error ? error : new Error(String(error));
  if (isDamage(code)) return damaged(path, messageOf(error), error);
  return new StoreError('QueueUnavailable', `the queue cannot be written: ${messageOf(error)}`, {
    cause: error,
    remedy: 'Make room on the disk of the workspace; the queue goes on by itself.',
  });
}

/** SQLITE_CORRUPT, SQLITE_NOTADB. */
function isDamage(code: number | undefined): boolean {
  return code === 11 || code === 26;
}

/** The disk failed under SQLite (SQLITE_IOERR): what its connection holds in memory is not to be relied on. */
export function isDiskFailure(error: unknown): boolean {
  return sqliteCode(error) === 10;
}

/** SQLITE_FULL, or as the file system says it. */
export function isDiskFull(error: unknown): boolean {
  return sqliteCode(error) === 13 || codeOf(error) === 'ENOSPC';
}

/** Primary result code of SQLite; see sqlite.org/rescode.html. */
function sqliteCode(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}
