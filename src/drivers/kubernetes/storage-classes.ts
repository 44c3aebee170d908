import { type AccessMode, type StorageClass, storageClassResource } from '#api/cluster-kinds.ts';
import type { Client } from '#kube/client.ts';
import { isForbidden } from '#kube/errors.ts';
import type { PodSettings } from './settings.ts';

const isDefaultAnnotation = 'storageclass.kubernetes.io/is-default-class';

/**
 * Access mode of new workspace volumes. `Auto` looks at the class: one whose provisioner is not Kubernetes' own takes
 * ReadWriteOncePod. A controller that may not look takes ReadWriteOnce, which every class knows.
 */
export function createAccessModes(
  client: Pick<Client, 'find' | 'list'>,
  accessMode: PodSettings['accessMode'],
): (storageClassName: string | undefined) => Promise<AccessMode> {
  if (accessMode !== 'Auto') return async () => accessMode;
  return async (name) => {
    try {
      const provisioner = (await findClass(client, name))?.provisioner;
      return provisioner === undefined || provisioner.startsWith('kubernetes.io/')
        ? 'ReadWriteOnce'
        : 'ReadWriteOncePod';
    } catch (error) {
      if (isForbidden(error)) return 'ReadWriteOnce';
      throw error;
    }
  };
}

async function findClass(
  client: Pick<Client, 'find' | 'list'>,
  name: string | undefined,
): Promise<StorageClass | undefined> {
  if (name !== undefined) {
    return client.find<StorageClass>(storageClassResource, { namespace: '', name });
  }
  const { items } = await client.list<StorageClass>(storageClassResource);
  return items.find(({ metadata }) => metadata.annotations?.[isDefaultAnnotation] === 'true');
}
