import type { AgentServerChange } from '#wire/changes.ts';
import type { TaskService } from '../tasks/service.ts';
import { executionLines } from './executions.ts';
import { queueLineOf } from './queue-news.ts';
import { unendedTaskLines } from './task-lines.ts';

/** What is told of the queue at the beginning of a stream: of one that nobody has used, nothing. */
export async function currentLines(
  tasks: Pick<TaskService, 'counts' | 'get' | 'list' | 'onChange'>,
  maxTracked: number,
): Promise<AgentServerChange[]> {
  const counts = await tasks.counts();
  const { pending, running, inputRequired } = counts;
  const isInUse = pending + running + inputRequired > 0;
  return [
    ...(isInUse ? [queueLineOf(counts, [])] : []),
    // Of clients' tasks none has a key where they are not tracked.
    ...(await unendedTaskLines(tasks, maxTracked === 0 ? 'controller' : undefined)),
    ...(await executionLines(tasks, maxTracked)),
  ];
}
