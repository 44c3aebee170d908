import type { Agent } from '#api/agent.ts';
import type { UpstreamSecrets } from '#api/agent-server-config.ts';
import type { AcceptedReason } from '#api/reasons.ts';
import type { Availability } from '#drivers/driver.ts';
import type { Observed, Workload } from '#drivers/workload.ts';
import type { MasterKey } from '#wire/keys.ts';
import type { RunHistory } from './history.ts';

/** Everything a decision about one Agent may depend on, gathered before it. Plain data. */
export interface AgentFacts {
  readonly agent: Agent;
  /** Fields that are set and that nothing implements here, and other problems of the spec that CEL cannot see. */
  readonly refusals: readonly Refusal[];
  readonly runtime: RuntimeChoice;
  readonly environment: Environment;
  /** What a remote upstream is asked with; undefined when the Agent has none. */
  readonly upstream?: UpstreamSecrets | undefined;
  readonly dependencies: DependencyFacts;
  /** Why nobody can log in although `spec.auth` asks for it, as sentences. */
  readonly authProblem?: string | undefined;
  /** Current first; empty while the master Secret is not there yet. */
  readonly masterKeys: readonly MasterKey[];
  readonly history: RunHistory;
  /** What the driver answered last; undefined before the first answer. */
  readonly observed: Observed | undefined;
  /** What the agent-servers of the instances said last. */
  readonly reports: readonly AgentReport[];
  /** Why too little is known of the Agent's namespace to touch anything in it; undefined: enough is. */
  readonly blocked: Blocked | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface Blocked {
  readonly reason: 'Forbidden' | 'Starting';
  readonly message: string;
}

export interface Refusal {
  readonly reason: AcceptedReason;
  readonly message: string;
}

export type RuntimeChoice =
  | { readonly ok: true; readonly class: Workload['runtime']['class']; readonly driver: string }
  | { readonly ok: false; readonly unavailable: Availability & { ok: false } };

/** `spec.env` with its references followed. */
export interface Environment {
  readonly values: Readonly<Record<string, string>>;
  /** References that lead nowhere, as sentences. */
  readonly missing: readonly string[];
  /** Names of those that nobody may see. */
  readonly secrets: readonly string[];
  /** Digest over what was referenced; says which values, not what they are: part of the spec hash. */
  readonly revision: string;
}

export interface DependencyFacts {
  readonly missing: readonly string[];
  readonly waiting: readonly string[];
  /** Names on the cycle that the Agent is part of, in order; empty when there is none. */
  readonly cycle: readonly string[];
}

/** One `state` line of an agent-server's change stream, with the instance that sent it. */
export interface AgentReport {
  readonly instance: string;
  readonly version: string;
  readonly ready: boolean;
  readonly reason: string;
  readonly message: string;
  readonly toolCount: number;
  /** Over its lists of tools, resources and prompts: routers keep theirs until it changes. */
  readonly toolsDigest: string;
  /** What each tool is, by name; undefined when the agent-server does not say. */
  readonly tools?: Readonly<Record<string, string>> | undefined;
  /** Names of tools with text that people do not see, the first of them. */
  readonly hidden?: readonly string[] | undefined;
  /** Nobody has used the instance for a while: a newer agent-server may take its place. */
  readonly idle: boolean;
}
