import type { Database } from './database.ts';
import type { StoredCounts, StoredStatus } from './operations.ts';
import type { TaskRow } from './rows.ts';

/** Sizes of what the store holds. Kept here, because SQLite would count a whole backlog for every task. */
interface Sizes {
  status: Record<StoredStatus, number>;
  pendingBytes: number;
  finished: Record<Kind, number>;
  finishedBytes: number;
}

/** What is to be forgotten differently: with a key; without one, with a time to live of its own or none. */
type Kind = 'keyed' | 'timed' | 'plain';
type Counted = Pick<TaskRow, 'key' | 'ttl_ms' | 'status' | 'bytes'>;

/** Bytes that a task takes beside its texts, about. */
const rowBytes = 1024;

export class Tally {
  #sizes = nothing();

  get counts(): StoredCounts {
    return { ...this.#sizes.status };
  }

  get pendingBytes(): number {
    return this.#sizes.pendingBytes;
  }

  /** With what the rows themselves take. */
  get finishedBytes(): number {
    return this.#sizes.finishedBytes;
  }

  finished(kind: Kind): number {
    return this.#sizes.finished[kind];
  }

  /** Counts everything anew. */
  read(database: Database): void {
    this.#sizes = nothing();
    const groups = database.all(
      `SELECT status, iif(key IS NULL, NULL, '') AS key, iif(ttl_ms IS NULL, NULL, 0) AS ttl_ms, count(*) AS tasks,
       sum(bytes) AS bytes FROM tasks GROUP BY 1, 2, 3`,
    ) as (Counted & { readonly tasks: number })[];
    for (const group of groups) this.#count(group, group.tasks, group.bytes);
  }

  add(task: Counted): void {
    this.#count(task, 1, task.bytes);
  }

  remove(task: Counted): void {
    this.#count(task, -1, -task.bytes);
  }

  /** Returns what comes back to the sizes of now. */
  mark(): () => void {
    const before = copyOf(this.#sizes);
    return () => {
      this.#sizes = copyOf(before);
    };
  }

  #count({ status, key, ttl_ms: ttl }: Omit<Counted, 'bytes'>, tasks: number, bytes: number): void {
    const sizes = this.#sizes;
    sizes.status[status] += tasks;
    if (status === 'pending') sizes.pendingBytes += bytes;
    if (status === 'pending' || status === 'running' || status === 'input_required') return;
    sizes.finished[key !== null ? 'keyed' : ttl === null ? 'plain' : 'timed'] += tasks;
    sizes.finishedBytes += bytes + tasks * rowBytes;
  }
}

function nothing(): Sizes {
  const status = { pending: 0, running: 0, input_required: 0, completed: 0, failed: 0, cancelled: 0 };
  return { status, pendingBytes: 0, finished: { keyed: 0, timed: 0, plain: 0 }, finishedBytes: 0 };
}

function copyOf({ status, finished, ...sizes }: Sizes): Sizes {
  return { ...sizes, status: { ...status }, finished: { ...finished } };
}
