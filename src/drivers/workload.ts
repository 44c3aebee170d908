import type { AgentSpec } from '#api/agent.ts';
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
    readonly limits: {
      readonly memoryBytes?: number;
      readonly cpu?: number;
      readonly pids: number;
      /** Open files of one process. Absent: the driver's own default; no cluster has a way to say it. */
      readonly files?: number;
    };
    /** `spec.runtime.resources` as written, for a substrate that speaks Kubernetes quantities. */
    readonly resources: NonNullable<AgentSpec['runtime']['resources']>;
  };
  /** Queue that it takes Tasks from; a label on what a cluster makes for it. */
  readonly role: string;
  readonly code: CodeSource | undefined;
  /** Runs to the end before the agent starts, in a sandbox of its own; undefined: nothing to install. */
  readonly install: InstallStep | undefined;
  /** Configuration of the agent-server. `agent.instance` is filled in by the driver. */
  readonly agentServer: Omit<AgentServerConfig, 'agent' | 'forwards' | 'paths'> & {
    readonly agent: Omit<AgentServerConfig['agent'], 'instance'>;
  };
  readonly storage: AgentSpec['storage'];
  /** The author's overlay of the pod; other substrates have no use for it. */
  readonly podTemplate?: NonNullable<AgentSpec['podTemplate']>;
  /** What the workload may reach through the egress proxy. Empty: nothing. */
  readonly egress: readonly EgressRule[];
  /** Its credential at the egress proxy; a secret. */
  readonly egressToken: string;
  /** Credential for what fetches the code of a git source before the agent starts: the install step's, also without one. */
  readonly fetchToken?: string;
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
  | { readonly type: 'inline'; readonly files: Readonly<Record<string, string>> }
  /** Sources that only a cluster has, as the spec says them. */
  | ({ readonly type: 'git' } & NonNullable<AgentCode['git']>)
  | ({ readonly type: 'image' } & NonNullable<AgentCode['image']>)
  | ({ readonly type: 'configMap' } & NonNullable<AgentCode['configMap']>)
  | ({ readonly type: 'pvc' } & NonNullable<AgentCode['pvc']>);

type AgentCode = NonNullable<AgentSpec['code']>;

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
  /** Of the whole: `Running` as soon as one instance of the wanted spec runs. */
  readonly phase: 'Absent' | 'Installing' | 'Starting' | 'Running' | 'Stopping' | 'Failed';
  /** Why, for people; for Failed the end of the log or the missing program and how to install it. */
  readonly message: string;
  /** A constant of `src/api/reasons.ts` where the driver knows one (`DriverUnavailable`, `InstallFailed`). */
  readonly reason?: string;
  /** What is wrong with some instance or child although others may run (an image that cannot be pulled, no room). */
  readonly fault?: Fault;
  readonly specHash?: string;
  readonly instances: readonly ObservedInstance[];
  /** How many instances have the wanted spec, do not end, and take calls; undefined: the agent-servers' reports tell. */
  readonly current?: number;
  /** False when limits were asked for and this host cannot enforce them; then `limitsMessage` says why. */
  readonly limitsEnforced: boolean;
  readonly limitsMessage?: string;
  /** Commit that a git source is pinned to. */
  readonly codeRevision?: string;
}

export interface Fault {
  /** A constant of `src/api/reasons.ts`. */
  readonly reason: string;
  /** For people: what happened, in the substrate's own words where it has any, and what to do. */
  readonly message: string;
}

export interface ObservedInstance {
  readonly name: string;
  /** The instance a token must name. */
  readonly uid: string;
  /** Which of the replicas it stands for, from 0; undefined: the only one. */
  readonly slot?: number;
  /** `unix:/path` or `host:port` of its agent-server; '' while it has none. */
  readonly address: string;
  readonly terminating: boolean;
  /** Spec that it was made from; undefined: the one that is observed of the whole. */
  readonly specHash?: string;
  readonly pid?: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Whether it takes calls, when the substrate itself knows (a pod's readiness); else its agent-server's report tells. */
  readonly ready?: boolean;
  /** Its agent-server is older than the one that the driver gives to new instances. Only drivers that can replace it tell. */
  readonly outdated?: boolean;
  /** How often it was started again in place (a pod's containers), and how the last of these runs ended. */
  readonly restarts?: number;
  readonly lastExit?: Exit;
  /** How it ended for good, when it did. */
  readonly exit?: Exit;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
  /** Milliseconds since the epoch. */
  readonly at: number;
}
