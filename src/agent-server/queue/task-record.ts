import { isObject } from '#kit/json.ts';
import type { Result } from '#mcp/results.ts';
import type { Progress } from '../source.ts';
import type { TaskChange, TaskPriority, TaskReason, TaskRecord, TaskRpcError } from './queue.ts';
import type { NewStoredTask, StoredChange, StoredTask } from './store/operations.ts';

/** What the store has of a task, for those who ask the queue. */
export function toRecord(stored: StoredTask): TaskRecord {
  return {
    id: stored.id,
    key: stored.key,
    owner: stored.owner,
    toolName: stored.tool,
    payload: objectIn(stored.payload) ?? {},
    priority: stored.priority as TaskPriority,
    status: stored.status,
    timeoutMs: stored.timeoutMs,
    ttlMs: stored.ttlMs,
    attempt: stored.attempt,
    createdAt: timeText(stored.createdAt),
    updatedAt: timeText(stored.updatedAt),
    startedAt: timeOrNull(stored.startedAt),
    finishedAt: timeOrNull(stored.finishedAt),
    progress: objectIn(stored.progress) as Progress | null,
    inputRequests: objectIn(stored.inputRequests),
    inputResponses: objectIn(stored.inputResponses),
    requestState: stored.requestState,
    reason: stored.reason as TaskReason | null,
    error: stored.error,
    rpcError: objectIn(stored.rpcError) as TaskRpcError | null,
    exitCode: stored.exitCode,
    result: objectIn(stored.result) as Result | null,
    logTail: stored.log.tail,
    logSeq: stored.log.sequence,
    logTruncated: stored.log.truncated,
  };
}

/** The record of a task as it was just added. */
export function toNewRecord(task: NewStoredTask, attempt: number, startedAt: number | null): TaskRecord {
  return toRecord({
    ...task,
    status: attempt === 0 ? 'pending' : 'running',
    attempt,
    createdAt: task.now,
    updatedAt: task.now,
    startedAt,
    finishedAt: null,
    progress: null,
    inputRequests: null,
    inputResponses: null,
    requestState: null,
    reason: null,
    error: null,
    rpcError: null,
    exitCode: null,
    result: null,
    log: { tail: '', sequence: 0, truncated: false },
  });
}

export function toChange({ tool, progress, ...change }: StoredChange): TaskChange {
  return {
    ...change,
    toolName: tool,
    createdAt: timeText(change.createdAt),
    startedAt: timeOrNull(change.startedAt),
    finishedAt: timeOrNull(change.finishedAt),
    reason: change.reason as TaskReason | null,
    progress: objectIn(progress) as Progress | null,
  };
}

export function timeText(time: number): string {
  return new Date(time).toISOString();
}

function timeOrNull(time: number | null): string | null {
  return time === null ? null : timeText(time);
}

export function jsonOrNull(value: unknown): string | null {
  return value === undefined || value === null ? null : JSON.stringify(value);
}

function objectIn(text: string | null): Record<string, unknown> | null {
  const value: unknown = text === null ? null : JSON.parse(text);
  return isObject(value) ? value : null;
}
