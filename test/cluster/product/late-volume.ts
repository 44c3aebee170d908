import type { KubeObject } from '#api/meta.ts';
import type { Cluster } from '../provider.ts';

type Volume = KubeObject & {
  spec: { storageClassName?: string; claimRef?: object };
  status?: { phase?: string };
};

/** Makes a storage class of that name work from now on: it provisions as the cluster's own, or has one volume. */
export async function addLateVolume(cluster: Cluster, className: string): Promise<void> {
  const given = await cluster.addVolumes(1);
  const own = JSON.parse(
    await cluster.kubectl(['get', 'storageclass', given, '-o', 'json']),
  ) as KubeObject & {
    provisioner: string;
  };
  const items: object[] = [{ ...own, metadata: { name: className } }];
  if (own.provisioner === 'kubernetes.io/no-provisioner')
    items.push(await moveVolume(cluster, given, className));
  await cluster.kubectl(['apply', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  });
}

async function moveVolume(cluster: Cluster, given: string, className: string): Promise<object> {
  const { items } = JSON.parse(await cluster.kubectl(['get', 'pv', '-o', 'json'])) as { items: Volume[] };
  const free = items.find(
    ({ spec, status }) => spec.storageClassName === given && status?.phase === 'Available',
  );
  if (free === undefined) throw new Error(`no volume of class ${given} is free`);
  await cluster.kubectl(['delete', 'pv', free.metadata.name]);
  const { apiVersion, kind, metadata, spec } = free;
  return {
    apiVersion,
    kind,
    metadata: { name: `${metadata.name}-late` },
    spec: { ...spec, storageClassName: className },
  };
}
