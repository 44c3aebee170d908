import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { EgressRule } from '#api/egress.ts';

/**
 * What the reconciler wants to exist for one Agent, in terms of no particular substrate.
 * Pure data: `desired.ts` makes it, a Driver makes it real.
 */
export interface Workload {
  readonly id: WorkloadId;
  /** Digest of everything that needs a new sandbox or pod when it changes. Secrets count by their resourceVersion. */
  readonly specHash: string;
  readonly runtime: {
    readonly class: 'Pod' | 'Bwrap' | 'Seatbelt' | 'Container' | 'Process';
    readonly image?: string;
    readonly replicas: number;
    /** Upper bounds; a driver that cannot enforce them reports `limitsEnforced: false`. */
    readonly limits: { readonly memoryBytes?: number; readonly cpu?: number; readonly pids: number };
  };
  readonly code: CodeSource | undefined;
  /** Runs to the end before the agent starts, in a sandbox of its own; undefined: nothing to install. */
  readonly install: InstallStep | undefined;
  /** Configuration of the agent-server. `agent.instance` is filled in by the driver. */
  readonly agentServer: Omit<AgentServerConfig, 'agent' | 'forwards' | 'paths'> & {
    readonly agent: Omit<AgentServerConfig['agent'], 'instance'>;
  };
  readonly storage: { readonly retain: boolean; readonly sizeBytes?: number };
  /** What the workload may reach through the egress proxy. Empty: nothing. */
  readonly egress: readonly EgressRule[];
  /** Its credential at the egress proxy; a secret. */
  readonly egressToken: string;
}

export interface WorkloadId {
  readonly namespace: string;
  readonly name: string;
  /** uid of the Agent: a deleted and re-created Agent is another workload. */
  readonly uid: string;
}

export type CodeSource =
  /** Absolute host path, already checked to lie inside the workspace. */
  | { readonly type: 'path'; readonly path: string; readonly writable: boolean }
  | { readonly type: 'inline'; readonly files: Readonly<Record<string, string>> };

export interface InstallStep {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly egress: readonly EgressRule[];
  /** A credential of its own, which the running agent never has. */
  readonly egressToken: string;
  readonly timeoutSeconds: number;
  /** Same digest, same result: the cache key of what the step leaves behind. */
  readonly digest: string;
}

/** What a driver saw when it last looked. */
export interface Observed {
  readonly phase: 'Absent' | 'Installing' | 'Starting' | 'Running' | 'Stopping' | 'Failed';
  /** Why, for people; for Failed the end of the log or the missing program and how to install it. */
  readonly message: string;
  /** A constant of `src/api/conditions.ts` where the driver knows one (`DriverUnavailable`, `InstallFailed`). */
  readonly reason?: string;
  readonly specHash?: string;
  readonly instances: readonly ObservedInstance[];
  /** False when limits were asked for and this host cannot enforce them; then `limitsMessage` says why. */
  readonly limitsEnforced: boolean;
  readonly limitsMessage?: string;
}

export interface ObservedInstance {
  readonly name: string;
  /** The instance a token must name. */
  readonly uid: string;
  /** `unix:/path` or `host:port` of its agent-server. */
  readonly address: string;
  readonly terminating: boolean;
  readonly pid?: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** How it ended, when it did. */
  readonly exit?: { readonly code: number | null; readonly signal: string | null; readonly at: number };
}
