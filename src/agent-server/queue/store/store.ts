import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import { checkFiles } from '../repair/check-files.ts';
import { answerLength, longestBatch } from './batch.ts';
import { carryOut, sweep } from './carry-out.ts';
import {
  Database,
  damaged,
  failureOf,
  guard,
  inUse,
  isDamage,
  isDiskFailure,
  isDiskFull,
} from './database.ts';
import { type ImportNote, importFiles, interrupted, moveAside } from './import-file.ts';
import { LostBatch } from './lost-batch.ts';
import {
  type Answer,
  defaultLimits,
  type Operation,
  type StoredChange,
  type StoredCounts,
  type StoreLimits,
} from './operations.ts';
import { openResultFiles, type ResultFiles } from './result-files.ts';
import { Retention } from './retention.ts';
import { checkedColumns, checkRow, type TaskRow, toChange } from './rows.ts';
import { StoreError } from './store-error.ts';
import { Tally } from './tally.ts';
import { TaskTable } from './tasks.ts';

/** What opening found out that people should know. */
export type OpeningNote =
  | ImportNote
  /** The end of the log was not whole: what was not acknowledged is left out. */
  | { readonly type: 'torn'; readonly path: string }
  /** Tasks that ran when the last process ended. */
  | { readonly type: 'interrupted'; readonly again: number; readonly ended: number };

export interface StoreOptions {
  readonly limits: StoreLimits;
  /** Ids of tasks that run in this process: the store was closed under them, they were not. */
  readonly held: readonly string[];
  /** What the last thread of this process was asked, and did not answer before it ended. */
  readonly lost: readonly Operation[];
  /** Files of the reference whose tasks are taken over, beside one that has the folder's name. */
  readonly imports: readonly string[];
}

const defaults: StoreOptions = { limits: defaultLimits, held: [], lost: [], imports: [] };

/**
 * The queue's tables, for one process at a time. Calls block until the disk has said that it has what was written, so
 * it lives in a thread of its own.
 */
export class TaskStore {
  readonly notes: readonly OpeningNote[];
  readonly #path: string;
  readonly #options: StoreOptions;
  readonly #tally = new Tally();
  readonly #files: ResultFiles;
  readonly #lost: LostBatch;
  #database: Database;
  #tasks: TaskTable;
  #retention: Retention;
  /** It could not even be rolled back: what the connection holds in memory is not to be relied on. */
  #isBroken = false;
  #changes: StoredChange[] = [];
  /** Files of this transaction: those to remove if it fails, and those to remove once it has not. */
  #written: string[] = [];
  #dropped: string[] = [];

  /**
   * Opens the queue of a folder, makes it when there is none, and settles what ran when the last process ended.
   * Throws StoreError. `now`: milliseconds since the epoch.
   */
  constructor(folder: string, now: number, options: Partial<StoreOptions> = {}) {
    this.#options = { ...defaults, ...options };
    this.#path = join(folder, 'tasks.sqlite');
    this.#lost = new LostBatch(this.#options.lost);
    this.#files = guard(this.#path, () => {
      moveAside(folder);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return openResultFiles(join(folder, 'results'));
    });
    const torn = guard(this.#path, () => checkFolder(folder, this.#path));
    this.#database = new Database(this.#path);
    this.#tasks = this.#tableOf(this.#database);
    this.#retention = this.#retentionOf(this.#database);
    try {
      this.notes = [...torn, ...guard(this.#path, () => this.#recover(folder, now))];
      // What was not written whole goes: it must not be found again behind what is written now.
      if (torn.length > 0) this.#database.checkpoint();
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /** As of the last transaction. */
  get counts(): StoredCounts {
    return this.#tally.counts;
  }

  /** Changes of status since it was asked last. */
  takeChanges(): StoredChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  /**
   * Carries operations out, as many as there is room for the answers of, at least one. On disk when this returns. An
   * error in place of an answer: that operation was not done, the others were. Throws StoreError when the disk takes
   * nothing, and then none was done.
   */
  apply(operations: readonly Operation[]): (Answer | Error)[] {
    try {
      return this.#transact(() => this.#each(operations, (one) => this.#together(one)));
    } catch (error) {
      if (!(error instanceof OneFailed)) throw failureOf(error, this.#path);
    }
    try {
      // Once more, with a way back before each: that is slower, and hardly ever needed.
      return this.#transact(() => this.#each(operations, (one) => this.#apart(one)));
    } catch (error) {
      throw failureOf(error, this.#path);
    }
  }

  close(): void {
    if (!this.#isBroken) this.#database.checkpoint();
    this.#database.close();
  }

  #transact<T>(work: () => T): T {
    const told = this.#changes.length;
    let restore = this.#tally.mark();
    try {
      if (this.#isBroken) {
        this.#reopen();
        restore = this.#tally.mark();
      }
      this.#database.begin();
      const done = work();
      this.#database.commit();
      for (const file of this.#dropped) this.#files.remove(file);
      return done;
    } catch (error) {
      this.#changes.length = told;
      restore();
      this.#rollBack(error);
      throw error;
    } finally {
      this.#written = [];
      this.#dropped = [];
    }
  }

  #each(operations: readonly Operation[], one: (operation: Operation) => Answer | Error): (Answer | Error)[] {
    const answers: (Answer | Error)[] = [];
    let length = 0;
    for (const operation of operations) {
      if (length > longestBatch) break;
      const answer = one(operation);
      length += answerLength(answer);
      answers.push(answer);
    }
    return answers;
  }

  #together(operation: Operation): Answer {
    try {
      return this.#carryOut(operation);
    } catch (error) {
      throw this.#isOfDisk(error) ? error : new OneFailed();
    }
  }

  #apart(operation: Operation): Answer | Error {
    const [told, written, dropped] = [this.#changes.length, this.#written.length, this.#dropped.length];
    const restore = this.#tally.mark();
    try {
      return this.#database.apart(() => this.#carryOut(operation));
    } catch (error) {
      if (this.#isOfDisk(error)) throw error;
      restore();
      this.#changes.length = told;
      this.#dropped.length = dropped;
      for (const file of this.#written.splice(written)) this.#files.remove(file);
      return failureOf(error, this.#path);
    }
  }

  #carryOut(operation: Operation): Answer {
    return this.#lost.isDone(operation) || carryOut(this.#tasks, this.#retention, operation);
  }

  /** Nothing else of the transaction could be done either. */
  #isOfDisk(error: unknown): boolean {
    return isDiskFailure(error) || isDiskFull(error) || isDamage(error) || !this.#database.isWriting;
  }

  /** Tasks that ran when the process ended run again while their policy allows it; else that is their end. */
  #recover(folder: string, now: number): OpeningNote[] {
    this.#checkRows();
    this.#database.begin();
    const notes = importFiles(this.#database, folder, this.#options.imports, now);
    this.#lost.undo(this.#database, this.#options.held);
    this.#tally.read(this.#database);
    for (const row of this.#lost.changed(this.#database)) this.#changes.push(toChange(row));
    const rows = this.#database.all(
      "SELECT * FROM tasks WHERE status = 'running' AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY seq",
      JSON.stringify(this.#options.held),
    ) as TaskRow[];
    const before = this.#tally.counts.pending;
    for (const row of rows) this.#tasks.lose(row, interrupted, now);
    const again = this.#tally.counts.pending - before;
    sweep(this.#retention, now);
    this.#database.commit();
    this.#dropped = [];
    this.#sweepFiles();
    if (rows.length === 0) return notes;
    return [...notes, { type: 'interrupted', again, ended: rows.length - again }];
  }

  /** Before anything is decided by it. */
  #checkRows(): void {
    try {
      for (const row of this.#database.lists(`SELECT ${checkedColumns} FROM tasks`)) checkRow(row);
    } catch (error) {
      // A number that is larger than what is written.
      const isDamage = error instanceof StoreError || codeOf(error) === 'ERR_OUT_OF_RANGE';
      throw isDamage ? damaged(this.#path, messageOf(error), error) : error;
    }
  }

  #sweepFiles(): void {
    const rows = this.#database.all(
      'SELECT result_file FROM tasks WHERE result_file IS NOT NULL',
    ) as TaskRow[];
    this.#files.sweep(new Set(rows.map(({ result_file: file }) => String(file))));
  }

  #rollBack(error: unknown): void {
    try {
      this.#database.rollBack();
    } catch {
      this.#isBroken = true;
    }
    if (isDiskFailure(error) || isDiskFull(error)) this.#database.dropTail();
    for (const file of this.#written) this.#files.remove(file);
    // What is in the log may fit into the file, and then the log has room again.
    if (isDiskFull(error) && !this.#isBroken) this.#database.checkpoint();
  }

  #reopen(): void {
    // By the connection that knows what was acknowledged: the log may hold what was not.
    if (this.#database.isOpen) {
      this.#database.carryOver();
      this.#database.close();
    }
    this.#database = new Database(this.#path);
    this.#tasks = this.#tableOf(this.#database);
    this.#retention = this.#retentionOf(this.#database);
    this.#tally.read(this.#database);
    this.#isBroken = false;
  }

  #tableOf(database: Database): TaskTable {
    return new TaskTable({
      database,
      files: this.#files,
      limits: this.#options.limits,
      tally: this.#tally,
      tell: (change) => this.#changes.push(change),
      onWritten: (file) => this.#written.push(file),
    });
  }

  #retentionOf(database: Database): Retention {
    return new Retention(database, this.#options.limits, this.#tally, (file) => this.#dropped.push(file));
  }
}

/** An operation cannot be done, for reasons of its own. */
class OneFailed extends Error {}

/** What was acknowledged may stand behind a place that SQLite takes for the end of its log. */
function checkFolder(folder: string, path: string): OpeningNote[] {
  const found = checkFiles(folder);
  if (found.state === 'in use') throw inUse(path);
  if (found.state === 'damaged') throw damaged(path, found.problem);
  return found.state === 'torn' ? [{ type: 'torn', path: found.path }] : [];
}
