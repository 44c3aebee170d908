import type { Volume } from '#api/cluster-kinds.ts';
import { folderLimits } from '#api/pod-defaults.ts';
import type { Workload } from '../../workload.ts';
import { claimName } from '../names.ts';
import type { PodSettings } from '../settings.ts';
import { nothing, type Part, paths, volumeNames } from './parts.ts';

/** A folder that ends with the pod, with an upper bound. */
export function folderOf(kind: keyof typeof folderLimits, { defaults }: PodSettings): Omit<Volume, 'name'> {
  return { emptyDir: { sizeLimit: defaults?.sizeLimits?.[kind] ?? folderLimits[kind] } };
}

/** /tmp, the workspace, and /shared where there is one. */
export function folderPart(workload: Workload, slot: number, settings: PodSettings): Part {
  const { sharedClaim } = settings;
  const workspace =
    workload.storage.size === undefined
      ? folderOf('workspace', settings)
      : { persistentVolumeClaim: { claimName: claimName(workload.id.name, slot) } };
  const shared = sharedClaim === undefined ? [] : [volumeNames.shared];
  return {
    ...nothing,
    volumes: [
      { name: volumeNames.temporary, ...folderOf('temporary', settings) },
      { name: volumeNames.workspace, ...workspace },
      ...shared.map((name) => ({ name, persistentVolumeClaim: { claimName: sharedClaim ?? '' } })),
    ],
    mounts: [
      { name: volumeNames.temporary, mountPath: paths.temporary },
      { name: volumeNames.workspace, mountPath: paths.workspace },
      ...shared.map((name) => ({ name, mountPath: paths.shared })),
    ],
  };
}
