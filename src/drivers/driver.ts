import type { Observed, Workload, WorkloadId } from './workload.ts';

/**
 * Makes workloads real on one substrate. Implementations run `test/contract/driver`.
 *
 * Every method converges: it is asked again and again with the same argument and must not do anything
 * twice. None waits for a slow thing (an install, a graceful stop): it starts it, answers within a second
 * with what it sees now, and tells through `watch` when that changes.
 */
export interface Driver {
  readonly name: 'kubernetes' | 'bwrap' | 'seatbelt' | 'container' | 'process';
  /**
   * True where owner references end the workload with its Agent: then nobody asks for `remove` when the Agent was
   * deleted (it may have been deleted so that its children stay), and nothing has to be looked for as an orphan.
   */
  readonly endsWithAgent?: boolean;
  /** Whether this machine can run it, else what to install or switch on. Cheap; may be cached. */
  available(): Promise<Availability>;
  /**
   * Moves the substrate towards `workload` and says what is there now. A running instance with another
   * `specHash` is stopped and replaced; one that ended is reported with its `exit` and is started again
   * only by the next `ensure` whose `start` is true (the reconciler owns backoff and circuit breaker). A substrate
   * that starts ended instances again by itself (a kubelet) is told by `start: false` to give that up: what runs
   * well goes on, what is between two starts stays ended.
   */
  ensure(workload: Workload, options: EnsureOptions): Promise<Observed>;
  /**
   * Ends and forgets the workload: no process, mount, socket or folder stays but what `retain` keeps.
   * `done` is false while something is still ending; ask again after `watch` reported it.
   */
  remove(id: WorkloadId, options: { readonly retain: boolean }): Promise<{ readonly done: boolean }>;
  /** The Agent is gone for good, and what `endsWithAgent` ends goes without `remove`: drops what is remembered of it. */
  forget?(id: WorkloadId): void;
  /** Everything of this driver that exists, for finding orphans and for adoption after a restart. */
  list(): Promise<readonly WorkloadId[]>;
  /** Calls back whenever what `ensure` would answer for a workload may have changed. Returns the stop function. */
  watch(onChange: (id: WorkloadId) => void): () => void;
  /** The workload's log (agent-server, the agent's own process, install step), newest last; `follow` keeps it open. */
  logs(id: WorkloadId, options: LogOptions): AsyncIterable<string>;
  /** Lets go of what this process holds. Workloads keep running. */
  close(): Promise<void>;
}

export interface EnsureOptions {
  readonly start: boolean;
  /**
   * uids of instances that are `outdated`, otherwise as wanted, and may be replaced now as if their spec had changed.
   * Default: none.
   */
  readonly upgrade?: readonly string[];
}

export type Availability =
  | { readonly ok: true; readonly detail: string }
  | { readonly ok: false; readonly reason: string; readonly remedy: string };

export interface LogOptions {
  /** Lines from the end. Default 200. */
  readonly tail?: number;
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}
