import { randomBytes } from 'node:crypto';
import { chmod, chown, mkdir } from 'node:fs/promises';
import type { Calls } from '../commands.ts';
import { nodeName, type Place } from './place.ts';

export const className = 'test-local';

// Who agents run as. Kubelet gives the folder to the pod's fsGroup in any case.
const user = 10001;

/**
 * Adds `count` volumes on the node: there is no provisioner. Each is a folder below the cluster's, deleted with it.
 * Their class is the default one and binds when a pod is scheduled. A claim takes any volume that is large enough.
 */
export async function addLocalVolumes(
  place: Place,
  { kubectl }: Calls,
  count: number,
  options: { readonly size?: string } = {},
): Promise<string> {
  const items: object[] = [storageClass()];
  for (let index = 0; index < count; index += 1) {
    const name = `local-${randomBytes(5).toString('hex')}`;
    const path = place.file('volumes', name);
    await mkdir(path, { recursive: true });
    await chown(path, user, user);
    await chmod(path, 0o770);
    items.push(volume(name, path, options.size ?? '10Gi'));
  }
  await kubectl(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }) });
  return className;
}

function storageClass() {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: className, annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  };
}

function volume(name: string, path: string, storage: string) {
  const here = { key: 'kubernetes.io/hostname', operator: 'In', values: [nodeName] };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage },
      accessModes: ['ReadWriteOnce', 'ReadWriteMany'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: className,
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
    },
  };
}
