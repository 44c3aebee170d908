import { cancelAnnotation } from '#api/labels.ts';
import type { TaskStatus } from '#api/task.ts';
import type { TaskFacts } from './facts.ts';
import { statusWith } from './status.ts';
import type { Step } from './step.ts';

export function isCancelled({ task }: Pick<TaskFacts, 'task'>): boolean {
  return task.metadata.annotations?.[cancelAnnotation] !== undefined;
}

/** Written before the instance hears of it, over the version that was read: of two claimers one gets a conflict. */
export function claim(facts: TaskFacts, agent: string, instance: string): Step {
  const attempts = (facts.task.status?.attempts ?? 0) + 1;
  const given: Partial<TaskStatus> = {
    phase: 'Queued',
    attempts,
    agent,
    instance,
    claimedBy: facts.identity,
    taskId: undefined,
    nextAttemptTime: undefined,
  };
  return { status: statusWith(facts, given), waitMs: 0 };
}
