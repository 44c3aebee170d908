import type { Task } from '#api/task.ts';
import { ownerIndex } from '#kube/indexes.ts';
import { isClaimed, isFinal } from './phases.ts';

export const uidIndex = 'uid';
export const agentIndex = 'agent';
export const instanceIndex = 'instance';
export const targetIndex = 'target';
export const openIndex = 'open';
export const dependencyIndex = 'dependsOn';
export const ownersIndex = 'owners';

/** For the Task informer: who is concerned when something else changes. */
export const taskIndexes = {
  [uidIndex]: ({ metadata }: Task) => (metadata.uid === undefined ? [] : [metadata.uid]),
  /** Those that an Agent has. */
  [agentIndex]: (task: Task) => (isClaimed(task) ? [inNamespace(task, task.status?.agent ?? '')] : []),
  [instanceIndex]: (task: Task) => (isClaimed(task) ? [task.status?.instance ?? ''] : []),
  /** Those that wait for one Agent. */
  [targetIndex]: (task: Task) =>
    isWaiting(task) && task.spec.agentRef !== undefined ? [inNamespace(task, task.spec.agentRef.name)] : [],
  /** Those that wait for any Agent of a role or with capabilities, by namespace. */
  [openIndex]: (task: Task) =>
    isWaiting(task) && task.spec.agentRef === undefined ? [task.metadata.namespace ?? ''] : [],
  [dependencyIndex]: (task: Task) =>
    isFinal(task) ? [] : (task.spec.dependsOn ?? []).map(({ name }) => inNamespace(task, name)),
  [ownersIndex]: ownerIndex,
};

function isWaiting(task: Task): boolean {
  return !isFinal(task) && !isClaimed(task) && task.spec.schedule === undefined;
}

export function inNamespace({ metadata }: Pick<Task, 'metadata'>, name: string): string {
  return `${metadata.namespace ?? ''}/${name}`;
}
