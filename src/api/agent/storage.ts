import { z } from 'zod';
import { objectName, quantity } from '../schema/fields.ts';

/** The workspace volume, at $WORKSPACE_PATH. */
export const storageSchema = z.strictObject({
  size: quantity
    .describe(
      'Size of the volume (1Gi). On a cluster: a PersistentVolumeClaim a replica; without it the workspace lives and ends with the pod. A host has one folder, whatever its size.',
    )
    .optional(),
  storageClassName: objectName
    .describe('Storage class of the volume, on a cluster. Default: the cluster’s.')
    .optional(),
  retain: z
    .boolean()
    .describe(
      'Whether the workspace stays when the Agent is deleted; one of the same name finds it again. On a cluster that needs size: without it there is nothing that could stay.',
    )
    .default(true),
});
