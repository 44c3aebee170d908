import { z } from 'zod';
import { type KeyRule, mapOf, quantity, seconds, shortText } from '../schema/fields.ts';
import { notYet, notYetValues } from '../schema/rules.ts';

const resourceName: KeyRule = {
  pattern: /^([a-z0-9.-]+\/)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
  maxLength: 63,
  message: 'must be a resource name like memory, cpu or pids',
};
const resourceList = mapOf(resourceName, quantity, 16);

const resourcesSchema = z.strictObject({
  limits: resourceList
    .describe(
      'Upper bounds: `memory` (512Mi), `cpu` (500m), `pids` (256), `files` (open files of one process; default 16384). Pods have neither `pids` nor `files`. A host that cannot enforce them says so with the reason LimitsNotEnforced.',
    )
    .optional(),
  requests: resourceList
    .describe('What the scheduler reserves. Means something on a cluster only.')
    .optional(),
});

/** What the agent runs on, and how many of it. */
export const runtimeSchema = z.strictObject({
  class: notYetValues(z.enum(['Auto', 'Pod', 'Bwrap', 'Seatbelt', 'Container', 'Process']), ['Container'])
    .describe(
      'Substrate. Auto takes the sandbox of this machine (Bwrap on Linux, Seatbelt on macOS) or, on a cluster, a Pod. Process runs without any sandbox, for trusted development only, and is never chosen by Auto.',
    )
    .default('Auto'),
  image: shortText
    .describe(
      'Image that the agent runs in on a cluster (any Linux image; Node is not needed in it). It carries what lifecycle.install would fetch, so that step is not run there. Sandboxes of a host have the host’s files instead.',
    )
    .optional(),
  resources: resourcesSchema.describe('CPU, memory and process bounds.').optional(),
  replicas: z
    .int()
    .min(0)
    .max(100)
    .describe('How many workloads run. 0 stops the agent. More than 1 needs a cluster.')
    .default(1),
  suspend: z
    .boolean()
    .describe(
      'Stops the agent. Its workspace stays on a host, and on a cluster where storage.size is set; else it ends with the pod.',
    )
    .default(false),
  idleAfterSeconds: notYet(seconds)
    .describe('Stops the agent when nothing called it for this long; the next call starts it. 0: never.')
    .default(0),
});
