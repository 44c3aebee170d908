import type { CoreEvent } from '#api/core-kinds.ts';
import { eventResource } from '#api/resources.ts';
import type { Client } from '#kube/client.ts';
import { ApiError } from '#kube/errors.ts';
import type { Fault } from '../workload.ts';
import { fault } from './observe/container-faults.ts';

/** Events that say why containers are not made, which the kubelet writes nowhere else. */
const told = ['FailedMount', 'FailedAttachVolume', 'FailedMapVolume', 'FailedCreatePodSandBox', 'Unhealthy'];

/** The newest warning about a pod, as a fault. Undefined when there is none, or Events may not be read. */
export async function readWarning(
  client: Pick<Client, 'list'>,
  pod: { readonly namespace: string; readonly uid: string },
): Promise<Fault | undefined> {
  try {
    const { items } = await client.list<CoreEvent>(eventResource, {
      namespace: pod.namespace,
      fieldSelector: `involvedObject.uid=${pod.uid},type=Warning`,
      limit: 50,
    });
    const newest = items
      .filter(({ reason = '' }) => told.includes(reason))
      .toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))[0];
    return newest === undefined ? undefined : faultOf(newest);
  } catch (error) {
    if (error instanceof ApiError) return undefined;
    throw error;
  }
}

function timeOf({ lastTimestamp, eventTime, metadata }: CoreEvent): string {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';
}

function faultOf({ reason = '', message = '' }: CoreEvent): Fault {
  if (reason === 'Unhealthy') return fault('ProbeFailing', message);
  const isMissing = /(configmap|secret) \S+ not found/i.test(message) || reason === 'FailedCreatePodSandBox';
  return fault(isMissing ? 'ContainerConfigError' : 'VolumePending', `${reason}: ${message}`);
}
