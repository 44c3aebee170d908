import type { z } from 'zod';
import type { apiVersion } from './group.ts';
import type { KubeObject } from './meta.ts';
import type { taskSpecSchema } from './task/spec.ts';
import type { taskStatusSchema } from './task/status.ts';

/** A spec with its defaults filled in. */
export type TaskSpec = z.output<typeof taskSpecSchema>;
export type TaskStatus = z.output<typeof taskStatusSchema>;
/** A Task with its defaults filled in, as the API server returns it. */
export interface Task extends KubeObject {
  apiVersion: typeof apiVersion;
  kind: 'Task';
  spec: TaskSpec;
  status?: TaskStatus;
}
