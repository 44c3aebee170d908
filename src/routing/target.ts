import type { Agent, AgentStatus } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import type { AgentIdentity } from '#wire/keys.ts';
import { type Access, accessOf } from './access.ts';

/** One agent-server that a call can be sent to. */
export interface TargetEndpoint {
  /** uid of the workload instance; tokens name it. */
  readonly uid: string;
  /** `unix:/path` or `host:port`. */
  readonly address: string;
  readonly terminating: boolean;
  /** Which replica of several it is, where workloads have such; another instance in its slot has its workspace. */
  readonly slot?: number;
}

/** An Agent as the router sees it: who it is and where it answers. */
export interface Target {
  readonly identity: AgentIdentity;
  readonly name: string;
  readonly namespace: string;
  /** How many it should have, which are those in the slots below. */
  readonly replicas: number;
  /** Workloads that take calls, in order of uid. */
  readonly ready: readonly TargetEndpoint[];
  /** The others that have an address: they end, or are not ready. What goes on at one of them may still be there. */
  readonly others: readonly TargetEndpoint[];
  /** Every workload that exists, ready or not: tokens minted for them count as a caller's. */
  readonly instances: readonly string[];
  /** Changes whenever what the agent lists may have changed. Empty: not known yet. */
  readonly listsDigest: string;
  /** Why it takes no calls; undefined while it does. */
  readonly unavailable: Unavailable | undefined;
  /** Who may reach it. Absent: everybody. */
  readonly access?: Access;
}

type EndpointStatus = NonNullable<AgentStatus['endpoints']>[number];

export interface Unavailable {
  /** A reason of the Agent's conditions, or `NotReady`. */
  readonly reason: string;
  readonly message: string;
  /** False when waiting cannot help: somebody has to do something first. */
  readonly passing: boolean;
}

/** Reasons that do not go away by themselves. */
const lasting = new Set([
  'Suspended',
  'CrashLoop',
  'DriverUnavailable',
  'InstallFailed',
  'Invalid',
  'NotImplemented',
  'DependencyMissing',
  'DependencyCycle',
  'CodeUnavailable',
  'SecretMissing',
]);

export function targetOf(agent: Agent): Target {
  const { name, namespace = '', uid = '' } = agent.metadata;
  const endpoints = agent.status?.endpoints ?? [];
  const isReady = (endpoint: EndpointStatus) => endpoint.ready && !endpoint.terminating;
  const ready = inOrder(name, endpoints.filter(isReady));
  const others = inOrder(
    name,
    endpoints.filter((endpoint) => !isReady(endpoint) && endpoint.address !== ''),
  );
  const access = accessOf(agent.spec.auth, namespace, name);
  return {
    identity: { namespace, name, uid },
    name,
    namespace,
    replicas: agent.spec.runtime.replicas,
    ready,
    others: others.length === 0 ? none : others,
    instances: endpoints.map((endpoint) => endpoint.uid),
    listsDigest: agent.status?.toolsDigest ?? '',
    unavailable: ready.length > 0 ? undefined : whyUnavailable(agent),
    ...(access && { access }),
  };
}

/** Almost every agent has no others. */
const none: readonly TargetEndpoint[] = [];

function inOrder(agent: string, endpoints: readonly EndpointStatus[]): TargetEndpoint[] {
  return endpoints
    .map(({ name, uid, address, terminating }) => ({ uid, address, terminating, ...slotIn(agent, name) }))
    .sort((left, right) => (left.uid < right.uid ? -1 : 1));
}

/** Pods are called AGENT-SLOT-HASH; what has no slot is called otherwise. */
function slotIn(agent: string, name: string): { slot?: number } {
  if (!name.startsWith(`${agent}-`)) return {};
  const slot = /^(\d{1,4})-[a-z0-9]+$/.exec(name.slice(agent.length + 1))?.[1];
  return slot === undefined ? {} : { slot: Number(slot) };
}

export function areSameTargets(left: Target | undefined, right: Target): boolean {
  return left !== undefined && JSON.stringify(left) === JSON.stringify(right);
}

function whyUnavailable(agent: Agent): Unavailable {
  const conditions = agent.status?.conditions;
  const halted = findCondition(conditions, 'Halted');
  const accepted = findCondition(conditions, 'Accepted');
  const ready = findCondition(conditions, 'Ready');
  const cause = halted?.status === 'True' ? halted : accepted?.status === 'False' ? accepted : ready;
  if (cause === undefined || cause.status === undefined) {
    return { reason: 'NotReady', message: 'the controller has not reported on it yet', passing: true };
  }
  return { reason: cause.reason, message: cause.message, passing: !lasting.has(cause.reason) };
}
