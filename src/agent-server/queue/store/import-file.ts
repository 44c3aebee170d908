import { readFileSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import type { Database } from './database.ts';
import { isFile } from './is-file.ts';
import { sumOf } from './rows.ts';

/*
 * Ploinky's own agent-server keeps its tasks in one file, a JSON array named `.tasksQueue` (Ploinky contract, §4). Its
 * payloads hold bearer tokens in clear and are not taken over: nothing of such a file is run again.
 */

/** What such a task is told that had not ended: the same words as there. */
export const interrupted = 'Task interrupted before completion (agent restart)';

/** What was found in one file. */
export type ImportNote =
  | {
      readonly type: 'imported';
      readonly path: string;
      readonly tasks: number;
      /** Of them, those that had not ended. */
      readonly interrupted: number;
      /** Items that are no tasks. */
      readonly skipped: number;
    }
  | { readonly type: 'unreadable'; readonly path: string; readonly problem: string };

interface ImportedTask {
  readonly id: string;
  readonly tool: string;
  readonly payload: string;
  readonly isOver: boolean;
  readonly status: 'completed' | 'failed';
  readonly error: string | null;
  readonly timeoutMs: number | null;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * Moves such a file out of the way of the queue's folder, which has the same name. A later start finds it where it
 * lies then, as long as it was not taken over.
 */
export function moveAside(folder: string): void {
  if (isFile(folder)) renameSync(folder, asideOf(folder));
}

function asideOf(folder: string): string {
  return join(dirname(folder), `${basename(folder)}.imported.json`);
}

/** Takes over what the files hold, each once. Within a transaction. `others`: files beside the one that was moved. */
export function importFiles(
  database: Database,
  folder: string,
  others: readonly string[],
  now: number,
): ImportNote[] {
  const named = [asideOf(folder), ...others.filter((path) => path !== folder)];
  return named.flatMap((path) => {
    if (!isFile(path)) return [];
    if (database.get('SELECT 1 FROM imports WHERE name = ?', path) !== undefined) return [];
    return [importFile(database, path, now)];
  });
}

function importFile(database: Database, path: string, now: number): ImportNote {
  let items: unknown;
  try {
    items = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return { type: 'unreadable', path, problem: messageOf(error) };
  }
  if (!Array.isArray(items)) return { type: 'unreadable', path, problem: 'it is no list of tasks' };
  const tasks = items.flatMap((item) => toTask(item, now) ?? []);
  for (const task of tasks) insert(database, task, now);
  database.run('INSERT INTO imports (name, at) VALUES (?, ?)', path, now);
  return {
    type: 'imported',
    path,
    tasks: tasks.length,
    interrupted: tasks.filter(({ isOver }) => !isOver).length,
    skipped: items.length - tasks.length,
  };
}

function insert(database: Database, task: ImportedTask, now: number): void {
  const { id, tool, payload, status, isOver, createdAt } = task;
  const reason = isOver ? 'Failed' : 'Interrupted';
  const ended = isOver ? task.updatedAt : now;
  database.run(
    `INSERT OR IGNORE INTO tasks (id, tool, payload, priority, status, attempt, timeout_ms, created_at, updated_at,
     finished_at, kept_since, bytes, reason, error, sum) VALUES (?, ?, ?, 1, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[id, tool, payload, status, task.timeoutMs, createdAt, ended, ended, now, payload.length],
    ...[status === 'failed' ? reason : null, task.error, sumOf(id, tool, payload)],
  );
  // The trigger of changes sums up how it stands.
  database.run('UPDATE tasks SET updated_at = updated_at WHERE id = ?', id);
}

function toTask(item: unknown, now: number): ImportedTask | undefined {
  if (!isObject(item)) return undefined;
  const { id, toolName, payload, status, error } = item;
  if (typeof id !== 'string' || !/^[\w-]{1,64}$/.test(id) || typeof toolName !== 'string') return undefined;
  if (typeof status !== 'string' || !['pending', 'running', 'completed', 'failed'].includes(status))
    return undefined;
  const isOver = status === 'completed' || status === 'failed';
  const input = isObject(payload) ? payload['input'] : undefined;
  const timeoutMs = typeof item['timeoutMs'] === 'number' ? Math.round(item['timeoutMs']) : null;
  return {
    id,
    tool: toolName,
    payload: JSON.stringify(input === undefined ? {} : { input }),
    isOver,
    status: status === 'completed' ? 'completed' : 'failed',
    error: isOver ? (typeof error === 'string' ? error : null) : interrupted,
    timeoutMs,
    createdAt: timeOf(item['createdAt'], now),
    updatedAt: timeOf(item['updatedAt'], now),
  };
}

/** Text as ISO 8601 has it, or milliseconds. */
function timeOf(value: unknown, otherwise: number): number {
  const time = typeof value === 'string' ? Date.parse(value) : value;
  return typeof time === 'number' && Number.isFinite(time) ? Math.round(time) : otherwise;
}
