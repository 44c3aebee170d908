import type { Database } from './database.ts';
import type { Answers, ListOperation, StoredStatus } from './operations.ts';
import { listed, type TaskRow, toTask } from './rows.ts';

const statusIs: Readonly<Record<StoredStatus, string>> = {
  pending: "status = 'pending'",
  running: "status = 'running'",
  input_required: "status = 'input_required'",
  completed: "status = 'completed'",
  failed: "status = 'failed'",
  cancelled: "status = 'cancelled'",
};

/** Without what may be long: see `listed`. */
export function listTasks(
  database: Database,
  { status, owner, after, limit }: ListOperation,
): Answers['list'] {
  const conditions = [
    // In words, so that the indexes of single statuses serve.
    ...(status === null ? [] : [statusIs[status]]),
    ...(owner === null ? [] : ['owner = ?']),
    ...(after === null ? [] : ['seq > (SELECT seq FROM tasks WHERE id = ?)']),
  ];
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
  const values = [owner, after].filter((value) => value !== null);
  const rows = database.all(`SELECT ${listed} FROM tasks ${where} ORDER BY seq LIMIT ?`, ...values, limit);
  return (rows as TaskRow[]).map(toTask);
}

export function unansweredTasks(database: Database, before: number): Answers['unanswered'] {
  const rows = database.all(
    "SELECT id FROM tasks WHERE status = 'input_required' AND updated_at <= ? ORDER BY updated_at, seq LIMIT 1000",
    before,
  );
  return (rows as Pick<TaskRow, 'id'>[]).map(({ id }) => id);
}
