import type { Exit, Fault, Observed, ObservedInstance, Workload } from '../../workload.ts';
import { fault as faultOf } from './container-faults.ts';
import type { PodFacts } from './pod-facts.ts';

export interface ObserveInput {
  readonly workload: Workload;
  readonly pods: readonly PodFacts[];
  /** uids of pods that are going to be deleted: no calls may be sent to them any more. */
  readonly retiring: ReadonlySet<string>;
  /** Why something could not be made, or what Events say of a pod. */
  readonly fault: Fault | undefined;
  readonly commit: string | undefined;
  /** Image that new pods get their agent-server from. */
  readonly serverImage: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** A start that takes longer than this is worth a word. Milliseconds. */
export const slowBootMs = 30_000;
/** A pod that is still there so long after it should be gone belongs to a node that does not answer. Milliseconds. */
export const overdueMs = 15_000;

/** Pure. */
export function observe(input: ObserveInput): Observed {
  const { workload, retiring, commit } = input;
  const pods = [...input.pods].sort((a, b) => a.slot - b.slot || a.createdAt - b.createdAt);
  const phase = phaseOf(pods, workload, input.fault);
  const fault = input.fault ?? worstFault(pods, workload, input.now);
  const specHash = specHashOf(pods, workload);
  return {
    phase,
    message: fault?.message ?? phaseMessages[phase],
    ...(phase === 'Failed' && fault !== undefined ? { reason: fault.reason } : {}),
    ...(fault === undefined ? {} : { fault }),
    ...(specHash === undefined ? {} : { specHash }),
    instances: pods.map((pod) => instanceOf(pod, input)),
    current: pods.filter((pod) => isCurrent(pod, workload) && pod.ready && !retiring.has(pod.uid)).length,
    ...limitsOf(workload),
    ...(commit === undefined ? {} : { codeRevision: commit }),
  };
}

const phaseMessages: Readonly<Record<Observed['phase'], string>> = {
  Absent: 'nothing is there',
  Installing: 'code is fetched and dependencies are installed',
  Starting: 'the pod is being started',
  Running: 'the pod runs',
  Stopping: 'the pod is ending',
  Failed: 'the pod ended',
};

/** What serves makes it Running, also when it is of an older spec; `specHash` says of which. */
function phaseOf(pods: readonly PodFacts[], workload: Workload, fault: Fault | undefined): Observed['phase'] {
  const live = pods.filter(({ terminating, exit }) => !terminating && exit === undefined);
  if (live.some(({ serving }) => serving)) return 'Running';
  const wanted = live.filter((pod) => isCurrent(pod, workload));
  if (wanted.some(({ installing }) => installing)) return 'Installing';
  if (live.length > 0) return 'Starting';
  if (pods.some(({ exit, terminating }) => exit !== undefined && !terminating)) return 'Failed';
  if (pods.length > 0) return 'Stopping';
  return fault === undefined ? 'Absent' : 'Failed';
}

function isCurrent({ specHash, terminating, exit }: PodFacts, workload: Workload): boolean {
  return specHash === workload.specHash && !terminating && exit === undefined;
}

/** Of another spec than the wanted one as long as anything of it is there. */
function specHashOf(pods: readonly PodFacts[], workload: Workload): string | undefined {
  const other = pods.find(({ specHash }) => specHash !== workload.specHash);
  return (other ?? pods[0])?.specHash;
}

/** The first of the wanted spec before others: it is the one that somebody waits for. */
function worstFault(pods: readonly PodFacts[], workload: Workload, now: number): Fault | undefined {
  const wanted = pods.filter(({ specHash }) => specHash === workload.specHash);
  for (const pod of [...wanted, ...pods]) {
    if (pod.ready) continue;
    const found = overdue(pod, now) ?? (pod.terminating ? undefined : (pod.fault ?? slowBoot(pod, now)));
    if (found !== undefined) return found;
  }
  return undefined;
}

function overdue({ name, goneBy }: PodFacts, now: number): Fault | undefined {
  if (goneBy === undefined || now < goneBy + overdueMs) return undefined;
  return faultOf('NodeLost', `Pod ${name} should be gone and is not: its node does not answer.`);
}

function slowBoot({ bootingSince }: PodFacts, now: number): Fault | undefined {
  if (bootingSince === undefined || now < bootingSince + slowBootMs) return undefined;
  return faultOf(
    'ProbeFailing',
    'The agent-server runs but does not answer its startup probe (GET /health).',
  );
}

function instanceOf(pod: PodFacts, { retiring, serverImage }: ObserveInput): ObservedInstance {
  return {
    name: pod.name,
    uid: pod.uid,
    address: pod.address,
    terminating: pod.terminating || retiring.has(pod.uid),
    slot: pod.slot,
    specHash: pod.specHash,
    startedAt: pod.createdAt,
    ...(isOutdated(pod, serverImage) ? { outdated: true } : {}),
    ready: pod.ready && !retiring.has(pod.uid),
    ...(pod.restarts === 0 ? {} : { restarts: pod.restarts }),
    ...optional('lastExit', pod.exit === undefined ? pod.lastExit : undefined),
    ...optional('exit', pod.exit),
  };
}

export function isOutdated({ serverImage }: PodFacts, current: string): boolean {
  return serverImage !== undefined && serverImage !== current;
}

function optional<N extends string>(name: N, exit: Exit | undefined): { [K in N]?: Exit } {
  return (exit === undefined ? {} : { [name]: exit }) as { [K in N]?: Exit };
}

/** Only what was asked for and cannot be had counts: a default that does not hold is no news. */
function limitsOf({ runtime }: Workload): Pick<Observed, 'limitsEnforced' | 'limitsMessage'> {
  if (runtime.resources.limits?.['pids'] === undefined) return { limitsEnforced: true };
  return {
    limitsEnforced: false,
    limitsMessage:
      'spec.runtime.resources.limits.pids: a pod cannot say it; the kubelets of the cluster do (podPidsLimit). Memory and CPU hold.',
  };
}
