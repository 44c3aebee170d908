import { type Pod, podResource } from '#api/cluster-kinds.ts';
import type { Client } from '#kube/client.ts';
import { isConflict, isNotFound } from '#kube/errors.ts';
import { keyOf } from '#kube/key.ts';
import type { WorkloadId } from '../workload.ts';
import { isNodeLost } from './lost-nodes.ts';

/** Begins the graceful end of one pod, and of no other that has its name by now. */
export function deletePod(
  client: Pick<Client, 'delete'>,
  { namespace }: WorkloadId,
  { name, uid }: { readonly name: string; readonly uid: string },
): Promise<void> {
  return unlessGone(client.delete(podResource, { namespace, name }, { preconditions: { uid } }));
}

/** Takes away a pod whose node is lost for good; leaves every other alone. */
export async function endLostPod(client: Pick<Client, 'delete' | 'find'>, pod: Pod): Promise<void> {
  if (!(await isNodeLost(client, pod))) return;
  const { uid = '' } = pod.metadata;
  await unlessGone(client.delete(podResource, keyOf(pod), { preconditions: { uid }, gracePeriodSeconds: 0 }));
}

export async function unlessGone(deletion: Promise<void>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    // A conflict says that the name belongs to another object.
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
