import type { TaskRecord } from '../queue/queue.ts';

/**
 * A task as the Ploinky contract tells it (§4), with `progress` besides. The contract knows four states and clients
 * wait for the last two: what asks its user runs as far as they are concerned, and what was cancelled has failed.
 */
export function contractTask(task: TaskRecord): Record<string, unknown> {
  const { id, toolName, createdAt, updatedAt, error, result, logTail, logSeq, logTruncated, progress } = task;
  return {
    id,
    toolName,
    status: contractStatus(task),
    createdAt,
    updatedAt,
    error: task.status === 'cancelled' ? (error ?? 'Task was cancelled') : error,
    result,
    logTail,
    logSeq,
    logTruncated,
    progress,
  };
}

function contractStatus({ status }: TaskRecord): 'pending' | 'running' | 'completed' | 'failed' {
  if (status === 'input_required') return 'running';
  return status === 'cancelled' ? 'failed' : status;
}
