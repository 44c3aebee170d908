import { truncateSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { codeOf, messageOf } from '#kit/errors.ts';
import { stateSumOf } from './rows.ts';
import { isSchemaWhole, migrate } from './schema.ts';
import { StoreError } from './store-error.ts';

/** Bytes that the log keeps after a large transaction: all of it is read at a start. */
const longestLog = 16 * 1024 * 1024;

/** Pages after which the log is carried over. Half of SQLite's own number: those who wait for it wait half as long. */
const pagesOfLog = 500;

/** One file of SQLite, for one process at a time, every statement of which is prepared once. */
export class Database {
  readonly path: string;
  readonly #database: DatabaseSync;
  readonly #pageSize: number;
  readonly #statements = new Map<string, StatementSync>();

  /** Makes the file when there is none. Throws StoreError. */
  constructor(path: string) {
    this.path = path;
    this.#database = openDatabase(path);
    this.#pageSize = Number(this.#database.prepare('PRAGMA page_size').get()?.['page_size']);
  }

  get(sql: string, ...values: SQLInputValue[]): unknown {
    return this.#prepare(sql).get(...values);
  }

  all(sql: string, ...values: SQLInputValue[]): unknown[] {
    return this.#prepare(sql).all(...values);
  }

  /** Rows as lists of their values, which is several times as fast. */
  lists(sql: string): Iterable<unknown[]> {
    const statement = this.#database.prepare(sql);
    statement.setReturnArrays(true);
    return statement.iterate() as Iterable<unknown> as Iterable<unknown[]>;
  }

  /** Rows that it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  begin(): void {
    this.#prepare('BEGIN IMMEDIATE').run();
  }

  /** Runs `work`; what it threw for was not done, and the rest of the transaction goes on. Throws what it throws. */
  apart<T>(work: () => T): T {
    this.#prepare('SAVEPOINT one').run();
    try {
      return work();
    } catch (error) {
      if (this.#database.isTransaction) this.#prepare('ROLLBACK TO one').run();
      throw error;
    } finally {
      if (this.#database.isTransaction) this.#prepare('RELEASE one').run();
    }
  }

  /** False once an error has ended the transaction by itself. */
  get isWriting(): boolean {
    return this.#database.isTransaction;
  }

  /** On disk when this returns. */
  commit(): void {
    this.#prepare('COMMIT').run();
  }

  /**
   * What a failed flush left in the log is not taken back by this, but overwritten by the next transaction: SQLite's
   * connection knows where. One that is opened meanwhile would take it for committed: see `dropTail`.
   */
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

  /** As `checkpoint`, and throws when it could not be done. */
  carryOver(): void {
    this.#database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  }

  /** Removes what a transaction that failed left in the log: a later start would take it for acknowledged. */
  dropTail(): void {
    try {
      const told = this.#database.prepare('PRAGMA wal_checkpoint(NOOP)').get();
      const frames = Number(told?.['log']);
      if (frames >= 0)
        truncateSync(`${this.path}-wal`, frames === 0 ? 0 : 32 + frames * (24 + this.#pageSize));
    } catch {
      // It is overwritten by the next transaction.
    }
  }

  get isOpen(): boolean {
    return this.#database.isOpen;
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
      database.exec(`PRAGMA journal_size_limit = ${longestLog}`);
      database.exec(`PRAGMA wal_autocheckpoint = ${pagesOfLog}`);
      const checked = database.prepare('PRAGMA integrity_check(1)').get();
      if (checked?.['integrity_check'] !== 'ok') throw damaged(path, String(checked?.['integrity_check']));
      database.function('state_sum_of', { deterministic: true, varargs: true }, (...values) =>
        stateSumOf(values),
      );
      migrate(database, path);
      if (!isSchemaWhole(database, path)) throw damaged(path, 'its tables are not those that were made');
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
    // Said where the way to repair it is not known.
    if (error instanceof StoreError && error.code === 'QueueDamaged' && error.remedy === undefined) {
      throw damaged(path, error.message, error);
    }
    // Its statements are right: tables that do not fit them are not what was written.
    if (isDamage(error) || code === 1) throw damaged(path, messageOf(error), error);
    throw code === 5 ? inUse(path, error) : failureOf(error, path);
  }
}

export function inUse(path: string, cause?: unknown): StoreError {
  return new StoreError('QueueInUse', `${path} is in use by another process`, {
    cause,
    remedy: 'End the other agent-server of this workspace first.',
  });
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
  if (isDamage(error)) return damaged(path, messageOf(error), error);
  return new StoreError('QueueUnavailable', `the queue cannot be written: ${messageOf(error)}`, {
    cause: error,
    remedy: 'Make room on the disk of the workspace; the queue goes on by itself.',
  });
}

/** SQLITE_CORRUPT, SQLITE_NOTADB, and a file that is shorter than it says (SQLITE_IOERR_SHORT_READ). */
export function isDamage(error: unknown): boolean {
  const code = sqliteCode(error);
  const isShort = typeof error === 'object' && error !== null && 'errcode' in error && error.errcode === 522;
  return code === 11 || code === 26 || isShort;
}

/** The disk failed under SQLite (SQLITE_IOERR). */
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
