import { networkPolicyResource, persistentVolumeClaimResource } from '#api/cluster-kinds.ts';
import { agentUidLabel } from '#api/labels.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { configMapResource, secretResource } from '#api/resources.ts';
import { keyOf } from '#kube/key.ts';
import type { WorkloadId } from '../workload.ts';
import { agentSecretName, installSecretName, networkPolicyName } from './names.ts';
import { unlessGone } from './pod-ends.ts';
import type { Writer } from './write-children.ts';

/**
 * Deletes what was made for a workload besides its pods; claims only without `retain`. True when there was nothing
 * left. What another Agent of the same name has taken over is not touched.
 */
export async function removeChildren(writer: Writer, id: WorkloadId, retain: boolean): Promise<boolean> {
  const left = childrenOf(writer, id, retain);
  await Promise.all(
    left.map(({ resource, object }) => {
      if (object.metadata.deletionTimestamp !== undefined) return undefined;
      const { uid = '' } = object.metadata;
      return unlessGone(writer.options.client.delete(resource, keyOf(object), { preconditions: { uid } }));
    }),
  );
  return left.length === 0;
}

interface Child {
  readonly resource: Resource;
  readonly object: KubeObject;
}

function childrenOf({ options, caches, codeMaps }: Writer, id: WorkloadId, retain: boolean): Child[] {
  const { namespace, name } = id;
  const named: [Resource, KubeObject | undefined][] = [
    [secretResource, options.secrets.get({ namespace, name: agentSecretName(name) })],
    [secretResource, options.secrets.get({ namespace, name: installSecretName(name) })],
    [networkPolicyResource, caches.policies.cache.get({ namespace, name: networkPolicyName(name) })],
  ];
  const claims = retain ? [] : caches.claimsOf(id.uid);
  return [
    ...named.map(([resource, object]) => ({ resource, object })),
    ...codeMaps.of(id.uid).map((object) => ({ resource: configMapResource, object })),
    ...claims.map((object) => ({ resource: persistentVolumeClaimResource, object })),
  ].flatMap(({ resource, object }) =>
    object?.metadata.labels?.[agentUidLabel] === id.uid ? [{ resource, object }] : [],
  );
}
