import { crc32 } from 'node:zlib';
import { isObject } from '#kit/json.ts';
import type { Database } from './database.ts';
import type {
  AddOperation,
  Answers,
  AskOperation,
  BeginOperation,
  FinalStatus,
  ListOperation,
  NewStoredTask,
  Operation,
  SettleOperation,
  StoredChange,
  StoredStatus,
  StoreLimits,
} from './operations.ts';
import { longestInline, type ResultFiles } from './result-files.ts';
import { changed, listed, sumOf, type TaskRow, toChange, toTask, toWholeTask } from './rows.ts';
import type { Tally } from './tally.ts';

type Of<Type extends Operation['type']> = Extract<Operation, { type: Type }>;
type Holder = Pick<Of<'release'>, 'id' | 'attempt' | 'log' | 'progress' | 'now'>;

/** The end of a task. */
interface End {
  readonly status: FinalStatus;
  readonly reason: string | null;
  readonly error: string | null;
  readonly now: number;
}

export interface TaskTableParts {
  readonly database: Database;
  readonly files: ResultFiles;
  readonly limits: StoreLimits;
  readonly tally: Tally;
  /** Told every change of status, as it is made. */
  readonly tell: (change: StoredChange) => void;
  /** Told which file the transaction wrote. */
  readonly onWritten: (file: string) => void;
}

/** What is done to single tasks. Within a transaction of whoever calls. */
export class TaskTable {
  readonly #parts: TaskTableParts;
  readonly #database: Database;

  constructor(parts: TaskTableParts) {
    this.#parts = parts;
    this.#database = parts.database;
  }

  add(operation: AddOperation): Answers['add'] {
    const { tally, limits } = this.#parts;
    const known = operation.key === null ? null : this.find('key', operation.key);
    if (known !== null) return known;
    const isFull =
      tally.counts.pending >= limits.maxPending ||
      (tally.counts.pending > 0 && tally.pendingBytes + operation.payload.length > limits.maxPendingBytes);
    if (isFull) return 'full';
    this.#insert(operation, 'pending', null);
    return 'added';
  }

  begin(operation: BeginOperation): true {
    this.#insert(operation, 'running', operation.startedAt);
    return true;
  }

  lease({ except, now }: Of<'lease'>): Answers['lease'] {
    const others = except.length === 0 ? '' : 'AND tool NOT IN (SELECT value FROM json_each(?))';
    const row = this.#database.get(
      `UPDATE tasks SET status = 'running', attempt = attempt + 1, updated_at = ?, started_at = ? WHERE seq =
       (SELECT seq FROM tasks WHERE status = 'pending' ${others} ORDER BY priority DESC, seq LIMIT 1) RETURNING *`,
      ...[now, now, ...(except.length === 0 ? [] : [JSON.stringify(except)])],
    ) as TaskRow | undefined;
    if (row === undefined) return null;
    this.#moved(row, 'pending');
    return toWholeTask(row, this.#parts.files.read);
  }

  settle(operation: SettleOperation): boolean {
    const { id, attempt, result, rpcError, exitCode } = operation;
    const row = this.#held(operation);
    if (row === undefined) return false;
    const bytes = result === null ? 0 : Buffer.byteLength(result);
    const isLong = result !== null && bytes > longestInline;
    const file = isLong ? this.#parts.files.write(id, attempt, result) : null;
    if (file !== null) this.#parts.onWritten(file);
    this.#database.run(
      `UPDATE tasks SET result = ?, result_file = ?, result_sum = ?, rpc_error = ?, exit_code = ?, bytes = bytes + ?
       WHERE seq = ?`,
      ...[isLong ? null : result, file, result === null ? null : crc32(result), rpcError, exitCode],
      ...[bytes + operation.log.tail.length, row.seq],
    );
    this.#note(operation);
    this.#end(row, operation);
    return true;
  }

  ask(operation: AskOperation): boolean {
    const row = this.#held(operation);
    if (row === undefined) return false;
    this.#note(operation);
    if (row.cancelling === 1) {
      this.#end(row, cancelledAt(operation.now));
      return true;
    }
    this.#database.run(
      'UPDATE tasks SET input_requests = ?, input_responses = NULL, request_state = ? WHERE seq = ?',
      ...[operation.requests, operation.state, row.seq],
    );
    this.#move(row, 'input_required', operation.now);
    if (this.#parts.tally.counts.input_required > this.#parts.limits.maxAsking)
      this.#endOldestQuestion(operation.now);
    return true;
  }

  /** Not for a task that is to be cancelled: that ends here. */
  release(operation: Of<'release'>): boolean {
    const row = this.#held(operation);
    if (row === undefined) return false;
    this.#note(operation);
    if (row.cancelling === 1) this.#end(row, cancelledAt(operation.now));
    else this.#move(row, 'pending', operation.now);
    return true;
  }

  interrupt(operation: Of<'interrupt'>): boolean {
    const row = this.#held(operation);
    if (row === undefined) return false;
    this.#note(operation);
    this.lose(row, operation.error, operation.now);
    return true;
  }

  /** The attempt of a running task was lost. */
  lose(row: TaskRow, error: string, now: number): void {
    if (row.cancelling === 1) this.#end(row, cancelledAt(now));
    else if (row.lost >= row.retries) this.#end(row, { status: 'failed', reason: 'Interrupted', error, now });
    else {
      this.#database.run('UPDATE tasks SET lost = lost + 1 WHERE seq = ?', row.seq);
      this.#move(row, 'pending', now);
    }
  }

  answer({ id, responses, now }: Of<'answer'>): Answers['answer'] {
    const row = this.#row('id', id);
    if (row === undefined) return 'unknown';
    if (row.status !== 'input_required') return 'ignored';
    const requests = objectIn(row.input_requests);
    const given = objectIn(responses);
    const known = objectIn(row.input_responses);
    const taken = Object.keys(requests).flatMap((key) => {
      const from = Object.hasOwn(known, key) ? known : given;
      return Object.hasOwn(from, key) ? [[key, from[key]] as const] : [];
    });
    this.#database.run(
      'UPDATE tasks SET input_responses = ? WHERE seq = ?',
      ...[JSON.stringify(Object.fromEntries(taken)), row.seq],
    );
    if (taken.length < Object.keys(requests).length) {
      this.#database.run('UPDATE tasks SET updated_at = ? WHERE seq = ?', now, row.seq);
      return 'partial';
    }
    this.#database.run('UPDATE tasks SET input_requests = NULL WHERE seq = ?', row.seq);
    this.#move(row, 'pending', now);
    return 'answered';
  }

  cancel({ id, now }: Of<'cancel'>): Answers['cancel'] {
    const row = this.#row('id', id);
    if (row === undefined) return 'unknown';
    if (row.kept_since !== null) return 'finished';
    if (row.status === 'running') {
      this.#database.run('UPDATE tasks SET cancelling = 1 WHERE seq = ?', row.seq);
      return 'cancelling';
    }
    this.#end(row, cancelledAt(now));
    return 'cancelled';
  }

  find(column: 'id' | 'key', value: string): Answers['get'] {
    const row = this.#row(column, value);
    return row === undefined ? null : toWholeTask(row, this.#parts.files.read);
  }

  list({ status, owner, after, limit }: ListOperation): Answers['list'] {
    const conditions = [
      ...(status === null ? [] : ['status = ?']),
      ...(owner === null ? [] : ['owner = ?']),
      ...(after === null ? [] : ['seq > (SELECT seq FROM tasks WHERE id = ?)']),
    ];
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    const values = [status, owner, after].filter((value) => value !== null);
    const rows = this.#database.all(
      `SELECT ${listed} FROM tasks ${where} ORDER BY seq LIMIT ?`,
      ...values,
      limit,
    );
    return (rows as TaskRow[]).map(toTask);
  }

  /** Ends those that have waited for answers since before. */
  endQuestions(before: number, now: number): void {
    const rows = this.#database.all(
      "SELECT * FROM tasks WHERE status = 'input_required' AND updated_at < ? ORDER BY updated_at, seq LIMIT 1000",
      before,
    ) as TaskRow[];
    const error = 'Nobody answered what the task asks';
    for (const row of rows) this.#end(row, { status: 'failed', reason: 'TimedOut', error, now });
  }

  #endOldestQuestion(now: number): void {
    const row = this.#database.get(
      "SELECT * FROM tasks WHERE status = 'input_required' ORDER BY updated_at, seq LIMIT 1",
    ) as TaskRow | undefined;
    const error = 'Too many tasks wait for answers';
    if (row !== undefined) this.#end(row, { status: 'failed', reason: 'TimedOut', error, now });
  }

  #insert(task: NewStoredTask, status: 'pending' | 'running', startedAt: number | null): void {
    const { id, key, owner, tool, payload, now } = task;
    const attempt = status === 'running' ? 1 : 0;
    const bytes = payload.length;
    this.#database.run(
      `INSERT INTO tasks (id, key, owner, tool, payload, priority, status, attempt, retries, timeout_ms, ttl_ms,
       created_at, updated_at, started_at, bytes, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, key, owner, tool, payload, task.priority, status, attempt, task.retries, task.timeoutMs],
      ...[task.ttlMs, now, now, startedAt, bytes, sumOf(id, tool, payload)],
    );
    this.#parts.tally.add({ key, status, bytes });
    this.#parts.tell({ id, key, owner, tool, status, attempt, progress: null });
  }

  #row(column: 'id' | 'key', value: string): TaskRow | undefined {
    return this.#database.get(`SELECT * FROM tasks WHERE ${column} = ?`, value) as TaskRow | undefined;
  }

  #held({ id, attempt }: Holder): TaskRow | undefined {
    return this.#database.get(
      "SELECT * FROM tasks WHERE id = ? AND status = 'running' AND attempt = ?",
      ...[id, attempt],
    ) as TaskRow | undefined;
  }

  /** What the holder knows of the attempt. */
  #note({ id, log, progress }: Holder): void {
    this.#database.run(
      'UPDATE tasks SET log_tail = ?, log_sequence = ?, log_truncated = ?, progress = ? WHERE id = ?',
      ...[log.tail, log.sequence, log.truncated ? 1 : 0, progress, id],
    );
  }

  #move({ seq, status: from }: TaskRow, to: StoredStatus, now: number): void {
    const row = this.#database.get(
      'UPDATE tasks SET status = ?, updated_at = ? WHERE seq = ? RETURNING *',
      ...[to, now, seq],
    ) as unknown as TaskRow;
    this.#moved(row, from);
  }

  #end({ seq, key, status: from, bytes }: TaskRow, { status, reason, error, now }: End): void {
    const row = this.#database.get(
      `UPDATE tasks SET status = ?, reason = ?, error = ?, updated_at = ?, finished_at = ?, kept_since = ?,
       forget_at = ? + ttl_ms, input_requests = NULL, input_responses = NULL, request_state = NULL
       WHERE seq = ? RETURNING ${changed}, bytes`,
      ...[status, reason, error, now, now, now, now, seq],
    ) as unknown as TaskRow;
    this.#parts.tally.remove({ key, status: from, bytes });
    this.#parts.tally.add(row);
    this.#parts.tell(toChange(row));
  }

  #moved(row: TaskRow, from: StoredStatus): void {
    this.#parts.tally.remove({ key: row.key, status: from, bytes: row.bytes });
    this.#parts.tally.add(row);
    this.#parts.tell(toChange(row));
  }
}

function cancelledAt(now: number): End {
  return { status: 'cancelled', reason: 'Cancelled', error: null, now };
}

function objectIn(text: string | null): Record<string, unknown> {
  const value: unknown = text === null ? {} : JSON.parse(text);
  return isObject(value) ? value : {};
}
