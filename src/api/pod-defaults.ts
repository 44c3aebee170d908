import { z } from 'zod';
import { podTemplateSchema } from './agent/pod-template.ts';
import { listOf, mapOf, objectName, quantity } from './schema/fields.ts';

const resourceName = { pattern: /^[a-z0-9./-]+$/, maxLength: 63, message: 'must be a resource name' };
const resourceList = mapOf(resourceName, quantity, 16);
const resources = z.strictObject({ limits: resourceList.optional(), requests: resourceList.optional() });
const id = z.int().min(1).max(2_147_483_647);
const size = z.string().min(1).max(32);

/**
 * What the administrator of a cluster sets for the pods of all agents: the same overlay that an Agent has, and beside
 * it what no author may touch. The controller reads it from a file.
 */
export const podDefaultsSchema = z.strictObject({
  metadata: podTemplateSchema.shape.metadata,
  /** The author's fields win; of nodeSelector and tolerations, both hold and the administrator's entries win. */
  spec: podTemplateSchema.shape.spec,
  /**
   * Container runtimes that authors may choose by `podTemplate.spec.runtimeClassName`. Without it: any, unless
   * `spec.runtimeClassName` above says one; then that one alone, so that nobody leaves a stronger sandbox.
   */
  runtimeClassNames: listOf(objectName, 32).optional(),
  /** Of the agent's container where the Agent says nothing. */
  resources: resources.optional(),
  /** Requests of the agent-server beside an agent with a program of its own. Default: cpu 10m, memory 64Mi. */
  sidecarRequests: resourceList.optional(),
  /** Loosens or changes who pods run as. Root is refused: Pod Security `restricted` would refuse the pods. */
  securityContext: z
    .strictObject({
      runAsUser: id.optional(),
      runAsGroup: id.optional(),
      fsGroup: id.optional(),
      readOnlyRootFilesystem: z.boolean().optional(),
    })
    .optional(),
  imagePullPolicy: z.enum(['Always', 'IfNotPresent', 'Never']).optional(),
  /** Upper bounds of the folders that end with the pod. Defaults: see `folderLimits`. */
  sizeLimits: z
    .strictObject({
      temporary: size.optional(),
      workspace: size.optional(),
      dependencies: size.optional(),
      code: size.optional(),
    })
    .optional(),
});
export type PodDefaults = z.output<typeof podDefaultsSchema>;

/** Sizes of folders where neither the Agent nor the administrator says one. */
export const folderLimits = {
  temporary: '1Gi',
  workspace: '10Gi',
  dependencies: '2Gi',
  code: '1Gi',
} as const;
