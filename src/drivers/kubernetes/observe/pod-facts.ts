import type { ContainerStatus, Pod, PodCondition } from '#api/cluster-kinds.ts';
import { agentServerImageAnnotation, slotLabel, specHashAnnotation } from '#api/labels.ts';
import type { Exit, Fault } from '../../workload.ts';
import { mainName, sidecarName } from '../render/containers.ts';
import { gitContainerName } from '../render/git.ts';
import { mcpPort, volumeNames } from '../render/parts.ts';
import { containerFault } from './container-faults.ts';
import { exitOf, lastExitOf } from './exits.ts';
import { podFault } from './pod-faults.ts';

/** Everything about a pod that the driver decides or tells by. Plain data: two that are equal call for the same. */
export interface PodFacts {
  readonly name: string;
  readonly uid: string;
  readonly slot: number;
  readonly specHash: string;
  /** Image that its agent-server came from; undefined: made before that was noted. */
  readonly serverImage: string | undefined;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly terminating: boolean;
  /** When it should be gone at the latest, when it is ending. Milliseconds since the epoch. */
  readonly goneBy: number | undefined;
  /** Its agent-server is up (its startup probe passed). */
  readonly serving: boolean;
  /** A container of it has run at some time. */
  readonly hasRun: boolean;
  /** Since when its agent-server runs without being up yet. Milliseconds since the epoch. */
  readonly bootingSince: number | undefined;
  readonly ready: boolean;
  readonly address: string;
  /** A container of ours ended and is not started again yet. */
  readonly betweenStarts: boolean;
  /** Fetching code or installing. */
  readonly installing: boolean;
  /** Waits for its containers although it has a node, and the kubelet's status does not say why. */
  readonly unexplained: boolean;
  readonly restarts: number;
  readonly lastExit: Exit | undefined;
  /** How it ended for good. */
  readonly exit: Exit | undefined;
  readonly isGivenUp: boolean;
  readonly fault: Fault | undefined;
  /** Commit that its git container fetched. */
  readonly commit: string | undefined;
  /** ConfigMap that its code comes from. */
  readonly codeMap: string | undefined;
}

/** Pure. */
export function factsOf(pod: Pod): PodFacts {
  const { metadata, status = {} } = pod;
  const server = agentServerOf(pod);
  const hasEnded = status.phase === 'Failed' || status.phase === 'Succeeded';
  const terminating = metadata.deletionTimestamp !== undefined;
  const statuses = statusesOf(pod, hasEnded);
  const isReady = conditionOf(pod, 'Ready')?.status === 'True';
  return {
    name: metadata.name,
    uid: metadata.uid ?? '',
    slot: Number(metadata.labels?.[slotLabel] ?? 0),
    specHash: metadata.annotations?.[specHashAnnotation] ?? '',
    serverImage: metadata.annotations?.[agentServerImageAnnotation],
    createdAt: millis(metadata.creationTimestamp),
    terminating,
    goneBy: terminating ? millis(metadata.deletionTimestamp) : undefined,
    serving: !hasEnded && (isReady || (server?.started === true && server.state?.running !== undefined)),
    hasRun: statuses.some(({ restartCount, state }) => restartCount > 0 || state?.waiting === undefined),
    bootingSince: bootingSince(server),
    ready: !hasEnded && !terminating && isReady,
    address: addressOf(status.podIP),
    betweenStarts: !hasEnded && statuses.some(isBetweenStarts),
    installing: (status.initContainerStatuses ?? []).some(
      ({ name, state }) => name !== sidecarName && state?.running !== undefined,
    ),
    unexplained: isUnexplained(pod),
    restarts: statuses.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastExit: lastExitOf(statuses),
    exit: hasEnded ? exitOf(pod, statuses) : undefined,
    isGivenUp: pod.spec.activeDeadlineSeconds !== undefined,
    fault: podFault(pod) ?? containerFault(statuses, hasEnded),
    commit: commitOf(status.initContainerStatuses ?? []),
    codeMap: pod.spec.volumes?.find(({ name }) => name === volumeNames.code)?.configMap?.name,
  };
}

/**
 * Of every container, in the order in which they start. Of a pod that has ended in the other order: the agent's own
 * program says why, what served beside it was ended with it.
 */
function statusesOf({ status = {} }: Pod, hasEnded = false): ContainerStatus[] {
  const { initContainerStatuses = [], containerStatuses = [] } = status;
  return hasEnded
    ? [...containerStatuses, ...initContainerStatuses]
    : [...initContainerStatuses, ...containerStatuses];
}

function agentServerOf({ status = {} }: Pod): ContainerStatus | undefined {
  return (
    status.initContainerStatuses?.find(({ name }) => name === sidecarName) ??
    status.containerStatuses?.find(({ name }) => name === mainName)
  );
}

function bootingSince(server: ContainerStatus | undefined): number | undefined {
  const since = server?.state?.running?.startedAt;
  return since === undefined || server?.started === true ? undefined : millis(since);
}

export function conditionOf({ status }: Pod, type: string): PodCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}

function isBetweenStarts({ name, state }: ContainerStatus): boolean {
  if (state?.waiting?.reason === 'CrashLoopBackOff') return true;
  const isLasting = name === mainName || name === sidecarName;
  return state?.terminated !== undefined && (isLasting || state.terminated.exitCode !== 0);
}

/** `ContainerCreating` for long has its reason in Events alone: a volume, an address, a sandbox that cannot be had. */
function isUnexplained(pod: Pod): boolean {
  if (pod.status?.phase !== 'Pending' || conditionOf(pod, 'PodScheduled')?.status !== 'True') return false;
  const waits = statusesOf(pod).map(({ state }) => state?.waiting?.reason);
  return waits.includes('ContainerCreating') || waits.every((reason) => reason === 'PodInitializing');
}

function commitOf(statuses: readonly ContainerStatus[]): string | undefined {
  const git = statuses.find(({ name }) => name === gitContainerName);
  const ended = git?.state?.terminated;
  const said = ended?.exitCode === 0 ? ended.message?.trim() : undefined;
  return said !== undefined && /^[0-9a-f]{40,64}$/.test(said) ? said : undefined;
}

function addressOf(ip: string | undefined): string {
  if (ip === undefined || ip === '') return '';
  return ip.includes(':') ? `[${ip}]:${mcpPort}` : `${ip}:${mcpPort}`;
}

function millis(time: string | null | undefined): number {
  const parsed = Date.parse(time ?? '');
  return Number.isNaN(parsed) ? 0 : parsed;
}
