import type { z } from 'zod';
import { type apiVersion, group, type KubeObject, type Resource, version } from './meta.ts';
import type { taskSpecSchema } from './task/spec.ts';
import type { taskStatusSchema } from './task/status.ts';

export const taskResource: Resource = { group, version, kind: 'Task', plural: 'tasks', namespaced: true };

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
