import type { Result } from '#mcp/results.ts';

/**
 * Work that is acknowledged with an id before it runs. Implementations run `test/contract/queue`.
 *
 * `enqueue` resolves when the task is as safe as the implementation makes it (a durable one: on disk), and
 * from then on exactly one outcome is recorded for it. Execution is at least once: a lease that ends without
 * an outcome puts the task back, at its old place. Order is that of enqueueing.
 */
export interface TaskQueue {
  /**
   * Same `key`, same task: a repeated enqueue returns the first one's record and adds nothing.
   * Rejects with QueueFull when too many wait already.
   */
  enqueue(task: NewTask): Promise<TaskRecord>;
  /** The oldest pending task, now running; undefined when there is none. `attempt` counts from 1. */
  lease(): Promise<Lease | undefined>;
  /** Appends to the task's log. Ignored when the lease is no longer the current one. */
  progress(lease: Lease, output: Uint8Array): void;
  /** Records the outcome. False when the lease is no longer the current one: somebody else decided. */
  settle(lease: Lease, outcome: Outcome): Promise<boolean>;
  /** Gives the task back, to be leased again before younger ones. */
  release(lease: Lease): Promise<void>;
  /**
   * `cancelled`: it was pending and will never run; `cancelling`: it runs, `lease.signal` is aborted and the
   * holder settles it; `finished`: too late; `unknown`: no such task.
   */
  cancel(id: string): Promise<'cancelled' | 'cancelling' | 'finished' | 'unknown'>;
  get(id: string): Promise<TaskRecord | undefined>;
  /** In order of enqueueing. */
  list(filter?: { readonly status?: TaskStatus; readonly limit?: number }): Promise<TaskRecord[]>;
  /** Calls back when a task may have become leasable. Returns the stop function. */
  onPending(listener: () => void): () => void;
  close(): Promise<void>;
}

/** The words of the Ploinky contract (§4), and `cancelled`. */
export type TaskStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';

export interface NewTask {
  /** Default: none, every enqueue is a task of its own. */
  readonly key?: string;
  readonly toolName: string;
  /** What the runner needs to run it: JSON, without secrets. */
  readonly payload: Record<string, unknown>;
  /** Milliseconds from the start of an attempt; undefined: the tool's own limit. */
  readonly timeoutMs?: number;
}

export interface TaskRecord {
  /** 16 hex digits. */
  readonly id: string;
  readonly toolName: string;
  readonly payload: Record<string, unknown>;
  readonly status: TaskStatus;
  readonly timeoutMs: number | null;
  readonly attempt: number;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly error: string | null;
  readonly result: Result | null;
  /** The last bytes of stdout and stderr as they came. */
  readonly logTail: string;
  /** How many pieces the log has had. */
  readonly logSeq: number;
  readonly logTruncated: boolean;
}

export interface Lease {
  readonly task: TaskRecord;
  /** Aborted when the task is cancelled. */
  readonly signal: AbortSignal;
}

export type Outcome =
  | { readonly status: 'completed'; readonly result: Result }
  | { readonly status: 'failed'; readonly error: string; readonly result?: Result }
  | { readonly status: 'cancelled' };
