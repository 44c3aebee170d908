import type { WorkloadId } from '../workload.ts';
import type { LimitsPlan } from './limits.ts';

/**
 * Everything a shim needs to run one sandbox, made by the driver and handed over through the shim's
 * stdin. It carries secrets (`descriptors` of type `data`), so it is never written to disk or argv.
 */
export interface ShimPlan {
  readonly version: 1;
  readonly kind: 'agent' | 'install';
  readonly workload: WorkloadId;
  /** Short name of the workload or install on this host; names its folders. */
  readonly key: string;
  /** uid of this run; every start has another. */
  readonly instance: string;
  readonly specHash: string;
  readonly recordPath: string;
  readonly controlSocket: string;
  /** Where the agent-server is reached. The sandbox gets the listening descriptor, never the folder. */
  readonly listenSocket?: string;
  readonly relays: readonly Relay[];
  /** Mode of the sockets that the sandbox connects to: 0o666 when it runs as another user (their folder is private). */
  readonly relayMode: number;
  readonly launch: Launch;
  readonly log: LogPlan;
  readonly lease?: LeasePlan;
  /** Between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** Ends the run after this long; absent: never. */
  readonly timeoutMs?: number;
  readonly limits: LimitsPlan;
  /** Descriptors that each process may have open. */
  readonly openFiles: number;
}

/** A socket inside the sandbox that leads to one outside, which may be replaced at any time. */
export interface Relay {
  readonly listen: string;
  readonly target: string;
}

/** One command with what its descriptors 3, 4, … are. */
export interface Launch {
  readonly file: string;
  readonly arguments: readonly string[];
  /** The whole environment; nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly descriptors: readonly Descriptor[];
}

export type Descriptor =
  /** The text, then end of file. */
  | { readonly type: 'data'; readonly text: string }
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'listener' }
  /** bwrap's `--info-fd`: tells the pid of the sandbox's first process. */
  | { readonly type: 'info' };

export interface LogPlan {
  readonly path: string;
  readonly maxBytes: number;
  /** Older files kept beside it as `.1`, `.2`, … */
  readonly keep: number;
  /** Secret values that are taken out of what is written. Default: none. */
  readonly redact?: readonly string[];
}

/**
 * The workspace's sign of life: a file that the watchdog rewrites. It is stale after `staleTicks` looks in
 * a row without a change; looks are `tickMs` apart. Wall-clock time plays no part, so a machine that slept
 * or a process tree that was stopped for an hour ends nothing.
 */
export interface LeasePlan {
  readonly path: string;
  readonly tickMs: number;
  readonly staleTicks: number;
}
