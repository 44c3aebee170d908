import { isObject } from '#kit/json.ts';
import { type Params, RpcError } from '../jsonrpc.ts';
import type { Result } from '../results.ts';
import { withoutRelatedTask } from './rename.ts';

/** How far a task is, in either era. */
export type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';

/** Undefined when a task says nothing that is known. */
export function statusOf({ status }: Result): TaskStatus | undefined {
  return statuses.find((known) => known === status);
}

const statuses: readonly TaskStatus[] = ['working', 'input_required', 'completed', 'failed', 'cancelled'];

/** Whether nothing changes about it any more. */
export function isOver(status: TaskStatus | undefined): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** What a task of 2025-11-25 says of itself, in the words of 2026-07-28: the same members, two with other names. */
export function fieldsForStateless(task: Result): Result {
  const { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttl, pollInterval } = task;
  return {
    taskId,
    status,
    ...(typeof statusMessage === 'string' && { statusMessage }),
    createdAt,
    lastUpdatedAt,
    ttlMs: typeof ttl === 'number' ? ttl : null,
    ...(typeof pollInterval === 'number' && { pollIntervalMs: pollInterval }),
  };
}

/** The CreateTaskResult of 2026-07-28 for one of 2025-11-25. */
export function begunForStateless({ task, _meta }: Result): Result {
  const fields = fieldsForStateless(isObject(task) ? task : {});
  return { ...fields, resultType: 'task', ...(isObject(_meta) && { _meta }) };
}

/**
 * A task of 2025-11-25 that has ended and what tasks/result said of it. What a tool says is `completed`, also that it
 * failed: `failed` is for errors of JSON-RPC alone.
 */
export function endedForStateless(task: Result, outcome: Result | RpcError): Result {
  const fields = fieldsForStateless(task);
  if (!(outcome instanceof RpcError))
    return { ...fields, status: 'completed', result: withoutRelatedTask(outcome) };
  const { code, message, data } = outcome;
  return { ...fields, status: 'failed', error: { code, message, ...(data !== undefined && { data }) } };
}

/** A task that waits for its client, and what it asks. */
export function askingForStateless(task: Result, inputRequests: Params): Result {
  return { ...fieldsForStateless(task), status: 'input_required', inputRequests };
}

/** The error that a task of 2026-07-28 ended with. */
export function errorOfTask({ error, statusMessage }: Result): RpcError {
  const { code, message, data } = isObject(error) ? error : {};
  const text = typeof message === 'string' ? message : statusMessage;
  return new RpcError(
    typeof code === 'number' ? code : -32_603,
    typeof text === 'string' ? text : 'The task failed',
    data,
  );
}
