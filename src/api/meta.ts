import { z } from 'zod';

/** DNS-1123 label: what Kubernetes allows for names that become part of a host name (RFC 1123). */
export const dnsLabel = z
  .string()
  .min(1)
  .max(63)
  .regex(
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/,
    'must be lower-case letters, digits and "-", and begin and end with a letter or digit',
  );

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** The part of Kubernetes ObjectMeta that this project reads and writes. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
}

export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** metav1.Condition. */
const conditionSchema = z.strictObject({
  type: z.string().min(1).max(316).describe('Which condition.'),
  status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
  observedGeneration: z
    .int()
    .min(0)
    .max(9_007_199_254_740_991)
    .describe('Generation of the spec that it speaks of.')
    .optional(),
  lastTransitionTime: z
    .string()
    .max(40)
    .meta({ format: 'date-time' })
    .describe('When its status last changed (RFC 3339).'),
  reason: z.string().min(1).max(1024).describe('Why, as one word; see the reference of conditions.'),
  message: z.string().max(32_768).describe('Why, for people, and what to do.'),
});
export type Condition = z.infer<typeof conditionSchema>;

export const conditionsSchema = z
  .array(conditionSchema)
  .max(16)
  .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] });

export interface Secret extends KubeObject {
  apiVersion: 'v1';
  kind: 'Secret';
  type?: string;
  immutable?: boolean;
  /** Values in base64. */
  data?: Record<string, string>;
}

export interface ConfigMap extends KubeObject {
  apiVersion: 'v1';
  kind: 'ConfigMap';
  immutable?: boolean;
  data?: Record<string, string>;
  binaryData?: Record<string, string>;
}

/** One kind as the API names it. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}
