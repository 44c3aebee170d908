import { z } from 'zod';
import { objectName, quantity } from '../schema/fields.ts';
import { notYet } from '../schema/rules.ts';

/** The workspace volume, at $WORKSPACE_PATH. */
export const storageSchema = z.strictObject({
  size: notYet(quantity).describe('Size of the volume (1Gi).').optional(),
  storageClassName: notYet(objectName).describe('Storage class of the volume, on a cluster.').optional(),
  retain: z
    .boolean()
    .describe('Whether the workspace stays when the Agent is deleted; one of the same name finds it again.')
    .default(true),
});
