import { z } from 'zod';
import { objectName, quantity, text } from '../schema/fields.ts';

const s3Schema = z.strictObject({
  endpoint: text(2048)
    .regex(/^https?:\/\/[^\s?#@]+$/, 'must be an http or https URL without user and query')
    .describe('Its URL, without the bucket. Its host can be reached without being listed in network.egress.'),
  region: text(64)
    .regex(/^[a-z0-9-]+$/, 'must be small letters, digits and "-"')
    .describe('Region that requests are signed for.')
    .default('us-east-1'),
  bucket: text(63)
    .regex(/^[a-z0-9][a-z0-9.-]*[a-z0-9]$/, 'must be the name of a bucket')
    .describe('Bucket; it must be there.'),
  prefix: z
    .string()
    .max(255)
    .regex(/^([A-Za-z0-9_-][A-Za-z0-9._-]*(\/|$))*$/, 'must be a path without leading "/", "." and ".."')
    .describe('Of all keys; <namespace>/<agent>/ follows. Default: none.')
    .default(''),
  pathStyle: z
    .boolean()
    .describe('Whether the bucket stands in the path (true), or before the host of endpoint.')
    .default(true),
  credentialsSecretRef: z
    .strictObject({ name: objectName.describe('Name of the Secret in the same namespace.') })
    .describe(
      'Secret with accessKeyId and secretAccessKey, and perhaps sessionToken, and ca.crt (authorities in place of the public ones).',
    ),
});

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
  s3: s3Schema
    .describe('A bucket that all replicas keep them in. Default: the workspace of the replica.')
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
