import { crc32 } from 'node:zlib';
import type { StoredStatus, StoredTask } from './operations.ts';
import { StoreError } from './store-error.ts';

/** A row as SQLite gives it. */
export interface TaskRow {
  readonly seq: number;
  readonly id: string;
  readonly tool: string;
  readonly payload: string;
  readonly status: string;
  readonly attempt: number;
  readonly timeout_ms: number | null;
  readonly created_at: number;
  readonly updated_at: number;
  readonly error: string | null;
  readonly result: string | null;
  readonly result_file: string | null;
  readonly log_tail: string;
  readonly log_sequence: number;
  readonly log_truncated: number;
  readonly sum: number;
}

/**
 * SQLite finds pages that are torn, not bits that a medium turned over. What a task is to do is checked before it is
 * done: a wrong order carried out is worse than none.
 */
export function sumOf(id: string, tool: string, payload: string): number {
  return crc32(payload, crc32(`${id}\n${tool}\n`));
}

/** Throws QueueDamaged when the row is not what was written. */
export function toTask(row: TaskRow, readResult: (file: string) => string): StoredTask {
  if (sumOf(row.id, row.tool, row.payload) !== row.sum) {
    throw new StoreError('QueueDamaged', `task ${row.id} is not what was written`, {
      remedy: 'The medium is failing: move the workspace to another one.',
    });
  }
  return {
    id: row.id,
    tool: row.tool,
    payload: row.payload,
    status: row.status as StoredStatus,
    timeoutMs: row.timeout_ms,
    attempt: row.attempt,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    error: row.error,
    result: row.result_file === null ? row.result : readResult(row.result_file),
    log: { tail: row.log_tail, sequence: row.log_sequence, truncated: row.log_truncated === 1 },
  };
}
