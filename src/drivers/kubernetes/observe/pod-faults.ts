import type { Pod, PodCondition } from '#api/cluster-kinds.ts';
import type { Fault } from '../../workload.ts';
import { fault } from './container-faults.ts';

/** What is wrong with the pod as a whole, before its containers count. */
export function podFault(pod: Pod): Fault | undefined {
  return endedByCluster(pod) ?? notScheduled(pod) ?? nodeLost(pod);
}

function endedByCluster({ status = {} }: Pod): Fault | undefined {
  if (status.phase !== 'Failed' || status.reason === undefined || status.reason === 'DeadlineExceeded') {
    return undefined;
  }
  if (status.reason === 'NodeLost') return lost(status.message);
  return fault('Evicted', `The cluster ended the pod (${status.reason}): ${status.message ?? ''}`);
}

function notScheduled(pod: Pod): Fault | undefined {
  const scheduled = find(pod, 'PodScheduled');
  if (scheduled?.status !== 'False') return undefined;
  const { reason = '', message = '' } = scheduled;
  if (/persistentvolumeclaim|binding volumes|persistent volumes to bind/i.test(message)) {
    const claims = pod.spec.volumes?.flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []) ?? [];
    return fault('VolumePending', `Claim ${claims.join(', ')} is not bound: ${message}`);
  }
  return fault('Unschedulable', message === '' ? reason : message);
}

/**
 * The node controller takes Ready away when a node is silent; the containers' own conditions stay as they were
 * last heard of.
 */
function nodeLost(pod: Pod): Fault | undefined {
  const { status = {} } = pod;
  if (status.reason === 'NodeLost') return lost(status.message);
  const isSilent =
    status.phase === 'Running' &&
    find(pod, 'Ready')?.status === 'False' &&
    find(pod, 'ContainersReady')?.status === 'True';
  if (isSilent) return lost(undefined);
  const disruption = find(pod, 'DisruptionTarget');
  return disruption?.status === 'True' && disruption.reason === 'DeletionByTaintManager'
    ? lost(disruption.message)
    : undefined;
}

function lost(message = 'it is not heard of any more'): Fault {
  return fault('NodeLost', `The node of the pod does not answer: ${message}`);
}

function find({ status }: Pod, type: string): PodCondition | undefined {
  return status?.conditions?.find((condition) => condition.type === type);
}
