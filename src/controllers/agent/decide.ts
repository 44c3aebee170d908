import type { AcceptedReason, AgentReason } from '#api/reasons.ts';
import type { AgentFacts } from './facts.ts';
import { isHalted, startDelay } from './history.ts';

/** What is to be done about an Agent, and why, in words that end in its conditions. */
export interface Verdict {
  /**
   * `run`: make the workload and start it. `hold`: keep what runs, start nothing. `stop`: end what runs, keep
   * its workspace. `refuse`: the spec itself cannot be accepted; what runs is ended. `leave`: too little is known to
   * touch anything.
   */
  readonly action: 'run' | 'hold' | 'stop' | 'refuse' | 'leave';
  readonly reason: AgentReason | AcceptedReason;
  readonly message: string;
  /** Milliseconds after which to look again without being told. */
  readonly wait?: number;
}

type Check = (facts: AgentFacts) => Verdict | undefined;

/** Read as the specification: the first check that has something to say decides. */
const checks: readonly Check[] = [
  specIsRefused,
  isSuspended,
  runtimeIsUnavailable,
  moreReplicasThanTheHostRuns,
  namespaceIsUnknown,
  masterKeyIsAbsent,
  dependenciesFormACycle,
  referencesAreMissing,
  isHaltedByItsFailures,
  dependencyIsMissing,
  dependencyIsNotReady,
  isBackingOff,
];

/** Pure. Gathered facts in, one verdict out. */
export function decide(facts: AgentFacts): Verdict {
  for (const check of checks) {
    const verdict = check(facts);
    if (verdict !== undefined) return verdict;
  }
  return { action: 'run', reason: 'Starting', message: 'The agent is being started.' };
}

function specIsRefused({ refusals }: AgentFacts): Verdict | undefined {
  const [first] = refusals;
  if (first === undefined) return undefined;
  return { action: 'refuse', reason: first.reason, message: refusals.map((r) => r.message).join(' ') };
}

function isSuspended(facts: AgentFacts): Verdict | undefined {
  const { suspend, replicas } = facts.agent.spec.runtime;
  if (!suspend && replicas > 0) return undefined;
  const field = suspend ? 'spec.runtime.suspend is true' : 'spec.runtime.replicas is 0';
  return { action: 'stop', reason: 'Suspended', message: `${field}${workspaceOf(facts)}.` };
}

/** A pod's workspace without a size ends with the pod. Where nothing can run it, who would know. */
function workspaceOf({ agent, runtime }: AgentFacts): string {
  if (!runtime.ok) return '';
  const isKept = runtime.class !== 'Pod' || agent.spec.storage.size !== undefined;
  return isKept ? '; the workspace is kept' : '; the workspace is not kept: spec.storage.size is not set';
}

function runtimeIsUnavailable({ runtime }: AgentFacts): Verdict | undefined {
  if (runtime.ok) return undefined;
  const { reason, remedy } = runtime.unavailable;
  return { action: 'hold', reason: 'DriverUnavailable', message: `${reason} ${remedy}`, wait: 60_000 };
}

function moreReplicasThanTheHostRuns({ agent, runtime }: AgentFacts): Verdict | undefined {
  const onHost = runtime.ok && runtime.class !== 'Pod';
  if (!onHost || agent.spec.runtime.replicas <= 1) return undefined;
  const message = `spec.runtime.replicas is ${agent.spec.runtime.replicas}; a host runs one. Set it to 1, or use a cluster.`;
  return { action: 'hold', reason: 'ReplicasNotSupported', message };
}

function namespaceIsUnknown({ blocked }: AgentFacts): Verdict | undefined {
  if (blocked === undefined) return undefined;
  return { action: 'leave', ...blocked, wait: blocked.reason === 'Forbidden' ? 30_000 : 1_000 };
}

function masterKeyIsAbsent({ masterKeys }: AgentFacts): Verdict | undefined {
  if (masterKeys.length > 0) return undefined;
  return { action: 'leave', reason: 'Starting', message: 'The master key is being made.', wait: 1_000 };
}

function dependenciesFormACycle({ dependencies }: AgentFacts): Verdict | undefined {
  if (dependencies.cycle.length === 0) return undefined;
  const path = dependencies.cycle.join(' → ');
  const message = `spec.dependsOn forms a cycle: ${path}. Remove one of these dependencies, or give it wait: None.`;
  return { action: 'hold', reason: 'DependencyCycle', message };
}

function referencesAreMissing({ environment }: AgentFacts): Verdict | undefined {
  if (environment.missing.length === 0) return undefined;
  return { action: 'hold', reason: 'SecretMissing', message: environment.missing.join(' ') };
}

function isHaltedByItsFailures({ history, agent, observed }: AgentFacts): Verdict | undefined {
  if (!isHalted(history)) return undefined;
  const resume = `ploinky restart ${agent.metadata.name}`;
  const last = observed?.fault?.message;
  const message = `The agent ended ${history.failures} times without a minute of Ready between and is halted. Look at its log, mend it, then change its spec or resume it: ${resume}${last === undefined ? '' : ` (${last})`}`;
  return { action: 'hold', reason: 'CrashLoop', message };
}

/** Dependencies order the start; an agent that already runs is not held for them. */
function dependencyIsMissing({ dependencies, observed }: AgentFacts): Verdict | undefined {
  if (dependencies.missing.length === 0 || observed?.phase === 'Running') return undefined;
  const names = dependencies.missing.join(', ');
  return { action: 'hold', reason: 'DependencyMissing', message: `spec.dependsOn names no Agent: ${names}.` };
}

function dependencyIsNotReady({ dependencies, observed }: AgentFacts): Verdict | undefined {
  if (dependencies.waiting.length === 0 || observed?.phase === 'Running') return undefined;
  const message = `Waits for ${dependencies.waiting.join(', ')} to be Ready.`;
  return { action: 'hold', reason: 'WaitingForDependency', message };
}

/** A kubelet spaces the starts of a pod's containers itself; only a pod that ended as a whole waits for the controller. */
function isBackingOff({ history, now, runtime, observed }: AgentFacts): Verdict | undefined {
  const inPlace = runtime.ok && runtime.class === 'Pod';
  if (inPlace && !observed?.instances.some(({ exit }) => exit !== undefined)) return undefined;
  const wait = startDelay(history, now);
  if (wait === 0) return undefined;
  const message = `The agent ended (${history.failures} in a row) and is started again after a pause.`;
  return { action: 'hold', reason: 'BackOff', message, wait };
}
