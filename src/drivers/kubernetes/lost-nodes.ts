import { type Node, nodeResource, type Pod } from '#api/cluster-kinds.ts';
import type { Client } from '#kube/client.ts';
import { isForbidden } from '#kube/errors.ts';

const outOfService = 'node.kubernetes.io/out-of-service';

/**
 * Whether the node of a pod is known to be gone for good: deleted, or declared out of service. Not answering is not
 * enough: the pod's programs may go on there, with its volume. Without the right to look: never.
 */
export async function isNodeLost(
  client: Pick<Client, 'find'>,
  { spec: { nodeName } }: Pod,
): Promise<boolean> {
  if (nodeName === undefined) return false;
  try {
    const node = await client.find<Node>(nodeResource, { namespace: '', name: nodeName });
    return node === undefined || (node.spec?.taints ?? []).some(({ key }) => key === outOfService);
  } catch (error) {
    if (isForbidden(error)) return false;
    throw error;
  }
}
