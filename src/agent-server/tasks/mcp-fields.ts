import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import {
  askingForStateless,
  endedForStateless,
  fieldsForStateless,
  type TaskStatus,
} from '#mcp/tasks/translate.ts';
import type { TaskRecord } from '../queue/queue.ts';

/** What a task says of itself in 2025-11-25; `taskId` as its client knows it. */
export function sessionFields(record: TaskRecord, taskId: string, pollMs: number): Result {
  const message = record.progress?.message ?? messageOf(record);
  return {
    taskId,
    status: statusOf(record),
    ...(message !== undefined && { statusMessage: message }),
    createdAt: record.createdAt,
    lastUpdatedAt: record.updatedAt,
    ttl: record.ttlMs,
    pollInterval: pollMs,
  };
}

/** As it is begun in 2026-07-28: without what only tasks/get tells. */
export function begunFields(record: TaskRecord, taskId: string, pollMs: number): Result {
  return { ...fieldsForStateless(sessionFields(record, taskId, pollMs)), resultType: 'task' };
}

/** What tasks/get and notifications/tasks of 2026-07-28 tell: its state, and its result, error or questions. */
export function statelessFields(record: TaskRecord, taskId: string, pollMs: number): Result {
  const state = sessionFields(record, taskId, pollMs);
  if (record.status === 'completed' || record.status === 'failed')
    return endedForStateless(state, outcomeOf(record));
  if (record.status === 'input_required') return askingForStateless(state, { ...openQuestions(record) });
  return fieldsForStateless(state);
}

/** What a call is answered with whose task has ended so. */
export function outcomeOf(record: TaskRecord): Result | RpcError {
  const { rpcError, reason, error, result } = record;
  if (rpcError !== null) return new RpcError(rpcError.code, rpcError.message, rpcError.data);
  if (record.status === 'cancelled') return new RpcError(errorCodes.internal, 'The task was cancelled');
  if (reason === 'Interrupted') return new RpcError(errorCodes.internal, error ?? 'The task was interrupted');
  if (result !== null) return result;
  return { content: [{ type: 'text', text: `MCP error -32603: ${error ?? 'failed'}` }], isError: true };
}

/** What is asked and not answered yet. */
export function openQuestions({ inputRequests, inputResponses }: TaskRecord): Result {
  const entries = Object.entries(inputRequests ?? {});
  return Object.fromEntries(entries.filter(([key]) => !Object.hasOwn(inputResponses ?? {}, key)));
}

export function isFinal({ status }: Pick<TaskRecord, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

function statusOf({ status }: TaskRecord): TaskStatus {
  return status === 'pending' || status === 'running' ? 'working' : status;
}

function messageOf({ error }: TaskRecord): string | undefined {
  return error ?? undefined;
}
