import type { Database } from './database.ts';
import { keyedMs, type StoreLimits } from './operations.ts';
import type { TaskRow } from './rows.ts';
import type { Tally } from './tally.ts';

/** Most that one call forgets: the rest is left to the next one. */
const most = 1000;
/** Whenever it finished, also when the clock was set back meanwhile. */
const always = Number.MAX_SAFE_INTEGER;

/** What finished tasks are forgotten by: their number, their bytes and their age. Within a transaction. */
export class Retention {
  readonly #database: Database;
  readonly #limits: StoreLimits;
  readonly #tally: Tally;
  readonly #onForgotten: (file: string) => void;

  /** `onForgotten` is told the file of a result whose task is forgotten. */
  constructor(database: Database, limits: StoreLimits, tally: Tally, onForgotten: (file: string) => void) {
    this.#database = database;
    this.#limits = limits;
    this.#tally = tally;
    this.#onForgotten = onForgotten;
  }

  /** Makes room after tasks have finished: the oldest of their kind go first. */
  makeRoom(now: number): void {
    const { maxFinished, maxFinishedBytes } = this.#limits;
    const plain = this.#tally.finished(false) - maxFinished;
    const keyed = this.#tally.finished(true) - maxFinished;
    if (plain > 0) this.#forget(0, always, plain);
    if (keyed > 0) this.#forget(1, now - keyedMs, keyed);
    for (const kind of [0, 1]) {
      while (this.#tally.finishedBytes > maxFinishedBytes && this.#tally.finished(kind === 1) > 1) {
        if (this.#forget(kind, always, 1) === 0) break;
      }
    }
  }

  /** Forgets what is too old, and what is to be forgotten by now. */
  forgetOld(now: number): void {
    for (const kind of [0, 1]) this.#forget(kind, now - this.#limits.retentionMs, most);
    this.#remove(
      'SELECT seq FROM tasks WHERE forget_at IS NOT NULL AND forget_at <= ? ORDER BY forget_at LIMIT ?',
      now,
      most,
    );
  }

  /** Of those with a key (1) or without one (0) that finished before. Returns how many there were. */
  #forget(keyed: number, before: number, many: number): number {
    return this.#remove(
      `SELECT seq FROM tasks WHERE kept_since IS NOT NULL AND (key IS NOT NULL) = ? AND kept_since < ?
       ORDER BY kept_since, seq LIMIT ?`,
      ...[keyed, before, Math.min(many, most)],
    );
  }

  #remove(selection: string, ...values: number[]): number {
    const gone = this.#database.all(
      `DELETE FROM tasks WHERE seq IN (${selection}) RETURNING key, status, bytes, result_file`,
      ...values,
    ) as TaskRow[];
    for (const row of gone) {
      this.#tally.remove(row);
      if (row.result_file !== null) this.#onForgotten(row.result_file);
    }
    return gone.length;
  }
}
