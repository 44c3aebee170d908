import type { Result } from '#mcp/results.ts';
import type { Progress } from '../source.ts';

/**
 * Work that is acknowledged with an id before it runs. Implementations run `test/contract/queue`.
 *
 * `enqueue` resolves when the task is on disk, and from then on exactly one outcome is recorded for it. An attempt
 * that is lost with its process is run again as often as the task's `retries` say; after that the task has failed,
 * with reason Interrupted. Order is that of priority, then that of enqueueing.
 *
 * What writes rejects with StoreError (QueueUnavailable, QueueDamaged, QueueInUse, SchemaTooNew) when it cannot be
 * recorded, and then nothing of it was kept, but that a `cancel` or `answer` may have been when the store's thread
 * ended. What only reads works on while nothing can be written.
 */
export interface TaskQueue {
  /**
   * Same `key`, same task: a repeated enqueue returns the first one's record as it is now and adds nothing.
   * Rejects with QueueFull when too many wait already.
   */
  enqueue(task: NewTask): Promise<TaskRecord>;
  /**
   * Records a call that runs already as a task that the caller holds: attempt 1, never pending before. For calls that
   * turn out to be long: they are not run again. `startedAt`: when it began, milliseconds since the epoch.
   */
  begin(task: Omit<NewTask, 'key'>, startedAt?: number): Promise<Lease>;
  /**
   * The most urgent, then oldest pending task, now running; undefined when there is none, or after `drain`.
   * `attempt` counts from 1. Tasks of the tools in `except` are left where they are.
   */
  lease(except?: readonly string[]): Promise<Lease | undefined>;
  /** Appends to the task's log. Ignored when the lease is no longer the current one. */
  progress(lease: Lease, output: Uint8Array): void;
  /** How far the task is. Ignored when the lease is no longer the current one. */
  report(lease: Lease, progress: Progress): void;
  /**
   * Records the outcome. False when the lease is no longer the current one: somebody else decided. While nothing can
   * be written it is tried again until it is recorded; the outcome is held in memory meanwhile, and the promise open:
   * whoever awaits it before starting something else bounds what is held. Rejects only when the queue is closed first.
   * A question of a task that is being cancelled ends it as cancelled.
   */
  settle(lease: Lease, outcome: Outcome): Promise<boolean>;
  /** Gives the task back unharmed, to be leased again before younger ones. Tried again as `settle`. */
  release(lease: Lease): Promise<void>;
  /**
   * The attempt was lost with its process: pending again while `retries` allow it, else failed (Interrupted).
   * Tried again as `settle`. False when the lease is no longer the current one.
   */
  interrupt(lease: Lease): Promise<boolean>;
  /**
   * Adds answers to what an `input_required` task asks; keys that it did not ask are ignored, a repeated key counts
   * once. `answered`: nothing is open any more and it is pending, before younger ones, with the answers on its record;
   * `partial`: something still is; `ignored`: it asks nothing now; `unknown`: no such task.
   */
  answer(
    id: string,
    responses: Readonly<Record<string, unknown>>,
  ): Promise<'answered' | 'partial' | 'ignored' | 'unknown'>;
  /**
   * `cancelled`: it was pending or asked something and will never run; `cancelling`: it runs, `lease.signal` is aborted
   * and the holder settles it; `finished`: too late; `unknown`: no such task.
   */
  cancel(id: string): Promise<'cancelled' | 'cancelling' | 'finished' | 'unknown'>;
  get(id: string): Promise<TaskRecord | undefined>;
  getByKey(key: string): Promise<TaskRecord | undefined>;
  /**
   * Gives a task without a key this one, by which its changes are told from now on; nothing else of it changes.
   * Undefined: there is none of this id, it has another key, or another one has this key.
   */
  adopt(id: string, key: string): Promise<TaskRecord | undefined>;
  /**
   * In order of enqueueing, without what may be long: results and questions are null, logs empty, and of payloads there
   * is only `instance`. `get` has them.
   */
  list(filter?: TaskFilter): Promise<TaskRecord[]>;
  /** Ids of tasks that ask and have not been changed since `before` (milliseconds since the epoch), the oldest first, at most 1000. */
  unanswered(before: number): Promise<readonly string[]>;
  /** As of the last transaction; all zero before the queue was opened. */
  counts(): TaskCounts;
  /** Calls back when a task may have become leasable. Returns the stop function. */
  onPending(listener: () => void): () => void;
  /**
   * Calls back after every change of status, once it is on disk, and after every `report`; not for logs. Returns the
   * stop function. What a restart decided is not told: whoever begins to listen reads the state first.
   */
  onChange(listener: (change: TaskChange) => void): () => void;
  /** No more leases from now on; what runs goes on, what waits stays for the next start. */
  drain(): void;
  /**
   * `drain`, and the signals of tasks that still run are aborted. Resolves when their holders have said how they ended:
   * nothing of them runs any more. What they say is not recorded; `close` decides.
   */
  end(): Promise<void>;
  /** Tasks that still run are interrupted as by `interrupt`, then their signals are aborted; later settles are false. */
  close(): Promise<void>;
}

/** The words of the Ploinky contract (§4), `cancelled`, and `input_required`: it asks something and runs no more. */
export type TaskStatus = 'pending' | 'running' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** Low, normal, high, critical. */
export type TaskPriority = 0 | 1 | 2 | 3;

/** Why a task has no good result. */
export type TaskReason = 'Failed' | 'TimedOut' | 'Interrupted' | 'Cancelled';

export interface NewTask {
  /** Default: none, every enqueue is a task of its own. */
  readonly key?: string;
  readonly toolName: string;
  /** What the runner needs to run it: JSON, without secrets. */
  readonly payload: Record<string, unknown>;
  /** Whose it is, in the words of whoever asks for it later. Default: nobody's. */
  readonly owner?: string;
  /** Default 1. */
  readonly priority?: TaskPriority;
  /** Milliseconds from the start of an attempt; undefined: the tool's own limit. */
  readonly timeoutMs?: number;
  /** How often an attempt that was lost with its process is run again. Default 0: the task fails (Interrupted). */
  readonly retries?: number;
  /**
   * Milliseconds after its end after which it is forgotten, and before which it is forgotten for want of room only. What
   * is more than the queue remembers anything is cut to that. Default: as long as the queue has room.
   */
  readonly ttlMs?: number;
}

export interface TaskFilter {
  readonly status?: TaskStatus;
  readonly owner?: string;
  /** Only those enqueued after the task with this id; none when there is no such task. */
  readonly after?: string;
  /** Default 1000. */
  readonly limit?: number;
}

export interface TaskRecord {
  /** URI of the blob that has its result too, where that is large and the controller gave the task. */
  readonly resultBlob?: string;
  /** 16 hex digits. */
  readonly id: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly toolName: string;
  readonly payload: Record<string, unknown>;
  readonly priority: TaskPriority;
  readonly status: TaskStatus;
  readonly timeoutMs: number | null;
  readonly ttlMs: number | null;
  /** Times that it was leased. */
  readonly attempt: number;
  /** ISO 8601. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Of the last attempt. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  readonly progress: Progress | null;
  /** What it asks now, by key; null when it asks nothing. */
  readonly inputRequests: Readonly<Record<string, unknown>> | null;
  /** What has been answered so far, or what the present attempt was given; null without questions. */
  readonly inputResponses: Readonly<Record<string, unknown>> | null;
  /** What the tool keeps for itself from its last question to the next attempt. */
  readonly requestState: string | null;
  /** Null while it has no bad end. */
  readonly reason: TaskReason | null;
  readonly error: string | null;
  /** The JSON-RPC error that the tool ended with. */
  readonly rpcError: TaskRpcError | null;
  readonly exitCode: number | null;
  readonly result: Result | null;
  /** The last bytes of stdout and stderr as they came. */
  readonly logTail: string;
  /** How many pieces the log has had. */
  readonly logSeq: number;
  readonly logTruncated: boolean;
}

export interface TaskRpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export interface TaskCounts {
  readonly pending: number;
  readonly running: number;
  readonly inputRequired: number;
  /** Those that are remembered. */
  readonly finished: { readonly completed: number; readonly failed: number; readonly cancelled: number };
}

export interface TaskChange {
  readonly id: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly toolName: string;
  readonly status: TaskStatus;
  readonly attempt: number;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Of the last attempt. */
  readonly startedAt: string | null;
  readonly finishedAt: string | null;
  /** Null while it has no bad end. */
  readonly reason: TaskReason | null;
  /** Of the last report; null when there was none. */
  readonly progress: Progress | null;
}

export interface Lease {
  readonly task: TaskRecord;
  /** Aborted when the task is cancelled, and when the queue is closed. */
  readonly signal: AbortSignal;
}

export type Outcome =
  | { readonly status: 'completed'; readonly result: Result; readonly exitCode?: number }
  | {
      readonly status: 'failed';
      readonly error: string;
      /** Default Failed. */
      readonly reason?: TaskReason;
      readonly exitCode?: number;
      readonly rpcError?: TaskRpcError;
      readonly result?: Result;
    }
  | { readonly status: 'cancelled' }
  /** Not the end: the task asks, gives its place up and runs again in a fresh process when all is answered. */
  | {
      readonly status: 'input_required';
      /** By key, at least one. */
      readonly requests: Readonly<Record<string, unknown>>;
      readonly state: string | null;
    };
