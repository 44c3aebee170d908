import { z } from 'zod';
import { objectName, quantity } from '../schema/fields.ts';

const blobsSchema = z.strictObject({
  maxBlobBytes: quantity.describe('Size of one file at most. Default: 5Gi.').optional(),
  maxBytes: quantity
    .describe('Size of all of them at most, of each replica that has a workspace of its own. Default: 20Gi.')
    .optional(),
  maxBlobs: z.int().min(0).max(1_000_000).describe('How many there may be. Default: 10000.').optional(),
  ttlSeconds: z
    .int()
    .min(1)
    .max(315_360_000)
    .describe(
      'After how long each is deleted; an upload may ask for less. Default: it stays until somebody deletes it.',
    )
    .optional(),
});

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
  blobs: blobsSchema.describe('Files that clients upload to it, and that it gives them.').optional(),
});
