import type { Database } from './database.ts';
import type { StoredCounts, StoredStatus } from './operations.ts';
import type { TaskRow } from './rows.ts';

/** Sizes of what the store holds. Kept here, because SQLite would count a whole backlog for every task. */
interface Sizes {
  status: Record<StoredStatus, number>;
  pendingBytes: number;
  /** Finished, without a key and with one. */
  plain: number;
  keyed: number;
  finishedBytes: number;
}

type Counted = Pick<TaskRow, 'key' | 'status' | 'bytes'>;

export class Tally {
  #sizes = nothing();

  get counts(): StoredCounts {
    return { ...this.#sizes.status };
  }

  get pendingBytes(): number {
    return this.#sizes.pendingBytes;
  }

  get finishedBytes(): number {
    return this.#sizes.finishedBytes;
  }

  finished(keyed: boolean): number {
    return keyed ? this.#sizes.keyed : this.#sizes.plain;
  }

  /** Counts everything anew. */
  read(database: Database): void {
    this.#sizes = nothing();
    const groups = database.all(
      `SELECT status, key IS NOT NULL AS keyed, count(*) AS tasks, sum(bytes) AS bytes FROM tasks GROUP BY 1, 2`,
    ) as { status: StoredStatus; keyed: number; tasks: number; bytes: number }[];
    for (const { status, keyed, tasks, bytes } of groups)
      this.#count({ status, key: keyed === 1 ? '' : null }, tasks, bytes);
  }

  add(task: Counted): void {
    this.#count(task, 1, task.bytes);
  }

  remove(task: Counted): void {
    this.#count(task, -1, -task.bytes);
  }

  /** Returns what comes back to the sizes of now. */
  mark(): () => void {
    const before = { ...this.#sizes, status: { ...this.#sizes.status } };
    return () => {
      this.#sizes = { ...before, status: { ...before.status } };
    };
  }

  #count({ status, key }: Omit<Counted, 'bytes'>, tasks: number, bytes: number): void {
    const sizes = this.#sizes;
    sizes.status[status] += tasks;
    if (status === 'pending') sizes.pendingBytes += bytes;
    if (status === 'pending' || status === 'running' || status === 'input_required') return;
    sizes[key === null ? 'plain' : 'keyed'] += tasks;
    sizes.finishedBytes += bytes;
  }
}

function nothing(): Sizes {
  const status = { pending: 0, running: 0, input_required: 0, completed: 0, failed: 0, cancelled: 0 };
  return { status, pendingBytes: 0, plain: 0, keyed: 0, finishedBytes: 0 };
}
