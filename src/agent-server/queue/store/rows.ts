import { crc32 } from 'node:zlib';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { NewStoredTask, StoredChange, StoredStatus, StoredTask } from './operations.ts';
import { StoreError } from './store-error.ts';

/** A row as SQLite gives it. */
export interface TaskRow {
  readonly seq: number;
  readonly id: string;
  readonly key: string | null;
  readonly owner: string | null;
  readonly tool: string;
  readonly payload: string;
  readonly priority: number;
  readonly status: StoredStatus;
  readonly attempt: number;
  readonly lost: number;
  readonly retries: number;
  readonly cancelling: number;
  readonly timeout_ms: number | null;
  readonly ttl_ms: number | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
  readonly kept_since: number | null;
  readonly forget_at: number | null;
  readonly bytes: number;
  readonly progress: string | null;
  readonly input_requests: string | null;
  readonly input_responses: string | null;
  readonly request_state: string | null;
  readonly reason: string | null;
  readonly error: string | null;
  readonly rpc_error: string | null;
  readonly exit_code: number | null;
  readonly result: string | null;
  readonly result_file: string | null;
  readonly result_sum: number | null;
  readonly log_tail: string;
  readonly log_sequence: number;
  readonly log_truncated: number;
  readonly sum: number;
  readonly state_sum: number;
}

/** Characters of an error in a list. */
const longestError = 4096;

/** Columns of a list: all but what may be long. Of a payload that is damaged there is nothing: a list decides nothing. */
export const listed = `id, key, owner, tool,
  CASE WHEN json_valid(payload) AND json_type(payload, '$.instance') = 'text'
    THEN json_object('instance', json_extract(payload, '$.instance')) ELSE '{}' END AS payload,
  priority, status, attempt, timeout_ms, ttl_ms, created_at,
  updated_at, started_at, finished_at, progress, NULL AS input_requests, NULL AS input_responses,
  NULL AS request_state, reason, substr(error, 1, ${longestError}) AS error, NULL AS rpc_error, exit_code, NULL AS result, '' AS log_tail, log_sequence, log_truncated`;

/**
 * SQLite finds pages that are torn, not bits that a medium turned over. What a task is to do is checked before it is
 * done: a wrong order carried out is worse than none.
 */
export function sumOf(id: string, tool: string, payload: string): number {
  return crc32(payload, crc32(`${id}\n${tool}\n`));
}

/** What `state_sum` is of, in the order in which the schema's trigger gives it. */
const stateColumns = [
  ...[
    'key',
    'owner',
    'priority',
    'status',
    'attempt',
    'lost',
    'retries',
    'cancelling',
    'timeout_ms',
    'ttl_ms',
  ],
  ...[
    'created_at',
    'updated_at',
    'started_at',
    'finished_at',
    'kept_since',
    'forget_at',
    'bytes',
    'progress',
  ],
  ...['input_requests', 'input_responses', 'request_state', 'reason', 'error', 'rpc_error', 'exit_code'],
  ...['result_file', 'result_sum', 'log_tail', 'log_sequence', 'log_truncated'],
];

/** Of how a task stands: a bit that was turned over there makes it run again, or never. */
export function stateSumOf(values: readonly unknown[]): number {
  return crc32(JSON.stringify(values));
}

/** Of one that is added. Written out, in the order of the columns: this is done for every task. */
export function newStateSum(
  task: NewStoredTask,
  status: string,
  attempt: number,
  startedAt: number | null,
): number {
  const { key, owner, priority, retries, timeoutMs, ttlMs, now, payload } = task;
  return stateSumOf([
    ...[key, owner, priority, status, attempt, 0, retries, 0, timeoutMs, ttlMs],
    ...[now, now, startedAt, null, null, null, payload.length, null],
    ...[null, null, null, null, null, null, null],
    ...[null, null, '', 0, 0],
  ]);
}

/** Of a row; columns that it does not have are as in a new one. */
export function stateSumOfRow(row: Readonly<Record<string, unknown>>): number {
  return stateSumOf(stateColumns.map((name) => row[name] ?? newState[name] ?? null));
}

const newState: Readonly<Record<string, unknown>> = {
  ...{ lost: 0, retries: 0, cancelling: 0, log_tail: '', log_sequence: 0, log_truncated: 0 },
};

/** Columns of a row that is to be checked as a whole. */
export const checkedColumns = `id, tool, payload, sum, state_sum, ${stateColumns.join(', ')}`;

/** Throws QueueDamaged when anything of a row of these columns is not what was written, but for its result. */
export function checkRow([id, tool, payload, sum, stateSum, ...state]: readonly unknown[]): void {
  const isText = typeof id === 'string' && typeof tool === 'string' && typeof payload === 'string';
  if (!isText || sumOf(id, tool, payload) !== sum || stateSumOf(state) !== stateSum) {
    throw notAsWritten(String(id));
  }
}

/** Throws QueueDamaged when the row is not what was written. */
export function checkSum({ id, tool, payload, sum }: Pick<TaskRow, 'id' | 'tool' | 'payload' | 'sum'>): void {
  if (sumOf(id, tool, payload) !== sum) throw notAsWritten(id);
}

function notAsWritten(id: string): StoreError {
  return new StoreError('QueueDamaged', `task ${id} is not what was written`, {
    remedy:
      'The medium is failing. Save what can be read with `agent-server.mjs repair-queue --folder .tasksQueue` of the workspace, and move it to another medium.',
  });
}

/** The whole task, with its result. Throws StoreError when it is not what was written, or cannot be read. */
export function toWholeTask(row: TaskRow, readResult: (file: string) => string): StoredTask {
  checkSum(row);
  const result = row.result_file === null ? row.result : resultIn(row.result_file, row.id, readResult);
  if (result !== null && crc32(result) !== row.result_sum) throw notAsWritten(row.id);
  return { ...toTask(row), result };
}

function resultIn(file: string, id: string, readResult: (file: string) => string): string {
  try {
    return readResult(file);
  } catch (error) {
    const problem = `the result of task ${id} cannot be read: ${messageOf(error)}`;
    throw new StoreError(codeOf(error) === 'ENOENT' ? 'QueueDamaged' : 'QueueUnavailable', problem, {
      cause: error,
    });
  }
}

export function toTask(row: TaskRow): StoredTask {
  return {
    id: row.id,
    key: row.key,
    owner: row.owner,
    tool: row.tool,
    payload: row.payload,
    priority: row.priority,
    status: row.status,
    timeoutMs: row.timeout_ms,
    ttlMs: row.ttl_ms,
    attempt: row.attempt,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    progress: row.progress,
    inputRequests: row.input_requests,
    inputResponses: row.input_responses,
    requestState: row.request_state,
    reason: row.reason,
    error: row.error,
    rpcError: row.rpc_error,
    exitCode: row.exit_code,
    result: row.result,
    log: { tail: row.log_tail, sequence: row.log_sequence, truncated: row.log_truncated === 1 },
  };
}

export function toChange(row: TaskRow): StoredChange {
  const { id, key, owner, tool, status, attempt, reason, progress } = row;
  const { created_at: createdAt, started_at: startedAt, finished_at: finishedAt } = row;
  return { id, key, owner, tool, status, attempt, createdAt, startedAt, finishedAt, reason, progress };
}
