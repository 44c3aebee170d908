import { z } from 'zod';
import { reservedPrefixes as reserved } from '../labels.ts';
import {
  freeObject,
  type KeyRule,
  listMap,
  listOf,
  mapOf,
  objectName,
  relativePath,
  seconds,
  text,
} from '../schema/fields.ts';
import { exactlyOne, withRules } from '../schema/rules.ts';

const labelKey: KeyRule = {
  pattern: /^([a-z0-9.-]+\/)?[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
  maxLength: 317,
  message: 'must be a label name like team or example.com/team',
};
const labelValue = z
  .string()
  .max(63)
  .regex(
    /^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?$/,
    'must be a label value: letters, digits, ".", "_" and "-"',
  );

const podMetadata = {
  labels: withRules(mapOf(labelKey, labelValue, 64), [notReserved('labels')])
    .describe('Labels beside ours.')
    .optional(),
  annotations: withRules(mapOf(labelKey, z.string().max(16_384), 64), [notReserved('annotations')])
    .describe('Annotations beside ours.')
    .optional(),
};

const tolerationSchema = z.strictObject({
  key: z.string().max(317).describe('Taint key. Default: every key.').optional(),
  operator: z.enum(['Exists', 'Equal']).describe('How value is compared. Default: Equal.').optional(),
  value: z.string().max(63).describe('Taint value.').optional(),
  effect: z
    .enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute'])
    .describe('Taint effect. Default: every effect.')
    .optional(),
  tolerationSeconds: seconds.describe('How long a NoExecute taint is tolerated.').optional(),
});

const keyToPath = z.strictObject({
  key: text(253).describe('Key.'),
  path: relativePath.describe('File name.'),
});
const items = listOf(keyToPath, 64).describe('Keys that become files. Default: all.').optional();

const volumeSchema = withRules(
  z.strictObject({
    name: text(63).describe('Name of the volume.'),
    configMap: z
      .strictObject({ name: objectName.describe('Name of the ConfigMap.'), items })
      .describe('A ConfigMap.')
      .optional(),
    secret: z
      .strictObject({ secretName: objectName.describe('Name of the Secret.'), items })
      .describe('A Secret.')
      .optional(),
    persistentVolumeClaim: z
      .strictObject({
        claimName: objectName.describe('Name of the claim.'),
        readOnly: z.boolean().describe('Whether it is mounted read-only.').optional(),
      })
      .describe('A claim.')
      .optional(),
    emptyDir: z
      .strictObject({ sizeLimit: text(32).describe('Upper bound, as a quantity.').optional() })
      .describe('A folder that ends with the pod.')
      .optional(),
  }),
  [exactlyOne(['configMap', 'secret', 'persistentVolumeClaim', 'emptyDir'])],
);

const volumeMountSchema = z.strictObject({
  name: text(63).describe('Name of the volume.'),
  mountPath: text(1024)
    .regex(/^\/[^:]*$/, 'must be an absolute path without ":"')
    .describe('Where it appears.'),
  subPath: relativePath.describe('Folder inside the volume.').optional(),
  readOnly: z.boolean().describe('Whether it is read-only.').optional(),
});

const podSpecSchema = z.strictObject({
  tolerations: listOf(tolerationSchema, 32).describe('Taints that the pod tolerates.').optional(),
  nodeSelector: mapOf(labelKey, labelValue, 32).describe('Labels that its node must have.').optional(),
  affinity: freeObject(8, 65_536).describe('Node and pod affinity, as in a Pod.').optional(),
  topologySpreadConstraints: listOf(freeObject(16, 16_384), 8)
    .describe('How replicas spread, as in a Pod.')
    .optional(),
  imagePullSecrets: listMap(z.strictObject({ name: objectName.describe('Name of the Secret.') }), 'name', 16)
    .describe('Credentials for the image.')
    .optional(),
  runtimeClassName: objectName.describe('Container runtime, for example gvisor.').optional(),
  priorityClassName: objectName.describe('Scheduling priority.').optional(),
  terminationGracePeriodSeconds: seconds.describe('Time between SIGTERM and SIGKILL.').optional(),
  volumes: listMap(volumeSchema, 'name', 32).describe('More volumes.').optional(),
  volumeMounts: listMap(volumeMountSchema, 'mountPath', 64)
    .describe('Where the agent’s container sees them.')
    .optional(),
});

/** Overlay of the pod: an allow-list; security fields and our own labels cannot be set. */
export const podTemplateSchema = z.strictObject({
  metadata: z.strictObject(podMetadata).describe('Labels and annotations of the pod.').optional(),
  spec: podSpecSchema.describe('Pod fields that may be set.').optional(),
});

function notReserved(what: string) {
  return {
    rule: `self.all(key, ${reserved.map((prefix) => `!key.startsWith('${prefix}')`).join(' && ')})`,
    message: `${what} that begin with ${reserved.join(' or ')} are reserved; choose other names`,
    holds: (members: Record<string, string>) =>
      Object.keys(members).every((key) => !reserved.some((prefix) => key.startsWith(prefix))),
  };
}
