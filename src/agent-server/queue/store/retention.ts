import type { Database } from './database.ts';
import { keyedMs, type StoreLimits } from './operations.ts';
import { sumOf, type TaskRow } from './rows.ts';
import type { Tally } from './tally.ts';

/** Most that one call forgets: the rest is left to the next one. */
const most = 1000;
/** So many times as many are remembered as long as those that have just ended, or have a time to live, are among them. */
const graceFactor = 20;
/** Whenever it finished, also when the clock was set back meanwhile. */
const always = Number.MAX_SAFE_INTEGER;

type Gone = Pick<TaskRow, 'key' | 'ttl_ms' | 'status' | 'bytes' | 'result_file' | 'kept_since'>;
type Oldest = Gone &
  Pick<TaskRow, 'seq' | 'id' | 'tool' | 'error'> & { kept_since: number; has_text: number };

/** What finished tasks are forgotten by: their number, their bytes and their age. Within a transaction. */
export class Retention {
  readonly #database: Database;
  readonly #limits: StoreLimits;
  readonly #tally: Tally;
  readonly #onForgotten: (file: string) => void;
  /** Before it there is nothing to forget by number, and nothing with a key to shorten; from the start after each sweep. */
  #looked = 0;
  #shortened = { since: 0, seq: 0 };

  /** `onForgotten` is told the file of a result that is forgotten. */
  constructor(database: Database, limits: StoreLimits, tally: Tally, onForgotten: (file: string) => void) {
    this.#database = database;
    this.#limits = limits;
    this.#tally = tally;
    this.#onForgotten = onForgotten;
  }

  /** Makes room after tasks have finished: the oldest go first. */
  makeRoom(now: number): void {
    const { maxFinished, maxFinishedBytes, graceMs } = this.#limits;
    const plain = this.#tally.finished('plain') - maxFinished;
    if (plain > 0) this.#forgetPlain(now - graceMs, plain);
    const all = this.#tally.finished('plain') + this.#tally.finished('timed') - graceFactor * maxFinished;
    if (all > 0) this.#forget(0, always, all);
    const keyed = this.#tally.finished('keyed') - maxFinished;
    if (keyed > 0) this.#forget(1, now - keyedMs, keyed);
    while (this.#tally.finishedBytes > maxFinishedBytes && this.#shrink(now));
  }

  /** Forgets what is too old, and what is to be forgotten by now. */
  forgetOld(now: number): void {
    this.#looked = 0;
    this.#shortened = { since: 0, seq: 0 };
    for (const kind of [0, 1]) this.#forget(kind, now - this.#limits.retentionMs, most);
    this.#remove(
      'SELECT seq FROM tasks WHERE forget_at IS NOT NULL AND forget_at <= ? ORDER BY forget_at LIMIT ?',
      now,
      most,
    );
  }

  /** Of those without a key and a time to live. Not looked at again is what was passed over: there may be many. */
  #forgetPlain(until: number, many: number): void {
    const gone = this.#remove(
      `SELECT seq FROM tasks WHERE kept_since IS NOT NULL AND (key IS NOT NULL) = 0 AND kept_since BETWEEN ? AND ?
       AND ttl_ms IS NULL ORDER BY kept_since, seq LIMIT ?`,
      ...[this.#looked, until, Math.min(many, most)],
    );
    const isAll = gone.length < Math.min(many, most);
    if (isAll) this.#looked = Math.max(this.#looked, until);
    else for (const row of gone) this.#looked = Math.max(this.#looked, row.kept_since ?? 0);
  }

  /** Of those with a key (1) or without one (0) that finished before. */
  #forget(keyed: number, before: number, many: number): void {
    this.#remove(
      `SELECT seq FROM tasks WHERE kept_since IS NOT NULL AND (key IS NOT NULL) = ? AND kept_since < ?
       ORDER BY kept_since, seq LIMIT ?`,
      ...[keyed, before, Math.min(many, most)],
    );
  }

  /** Takes bytes from the oldest. False when there is nothing to take: the latest stays, whatever its size. */
  #shrink(now: number): boolean {
    const { since, seq } = this.#shortened;
    const [row, next] = [...this.#oldest(0, 0, 0), ...this.#oldest(1, since, seq)].sort(
      (one, other) => one.kept_since - other.kept_since,
    );
    if (row === undefined || next === undefined) return false;
    if (row.key === null || row.kept_since < now - keyedMs) this.#remove('SELECT ?', row.seq);
    else this.#shorten(row);
    return true;
  }

  #oldest(keyed: number, since: number, seq: number): Oldest[] {
    return this.#database.all(
      `SELECT seq, id, tool, key, ttl_ms, status, bytes, result IS NOT NULL AS has_text, result_file, error, kept_since
       FROM tasks WHERE kept_since IS NOT NULL AND (key IS NOT NULL) = ? AND (kept_since, seq) > (?, ?)
       ORDER BY kept_since, seq LIMIT 2`,
      ...[keyed, since, seq],
    ) as Oldest[];
  }

  /** Leaves of a task that its end is known: whoever chose its key would have it run again otherwise. */
  #shorten(row: Oldest): void {
    this.#shortened = { since: row.kept_since, seq: row.seq };
    const hasResult = row.has_text === 1 || row.result_file !== null;
    const error = row.error ?? (hasResult ? 'Its result has made room for others' : null);
    const payload = '{}';
    this.#database.run(
      `UPDATE tasks SET payload = ?, sum = ?, bytes = ?, result = NULL, result_file = NULL, result_sum = NULL,
       log_tail = '', log_truncated = 1, error = ? WHERE seq = ?`,
      ...[payload, sumOf(row.id, row.tool, payload), payload.length, error, row.seq],
    );
    this.#tally.remove(row);
    this.#tally.add({ ...row, bytes: payload.length });
    if (row.result_file !== null) this.#onForgotten(row.result_file);
  }

  #remove(selection: string, ...values: number[]): readonly Gone[] {
    const gone = this.#database.all(
      `DELETE FROM tasks WHERE seq IN (${selection}) RETURNING key, ttl_ms, status, bytes, result_file, kept_since`,
      ...values,
    ) as Gone[];
    for (const row of gone) {
      this.#tally.remove(row);
      if (row.result_file !== null) this.#onForgotten(row.result_file);
    }
    return gone;
  }
}
