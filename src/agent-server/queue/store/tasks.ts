import { crc32 } from 'node:zlib';
import { isObject } from '#kit/json.ts';
import type { Database } from './database.ts';
import { listTasks, unansweredTasks } from './lists.ts';
import type {
  AddOperation,
  Answers,
  AskOperation,
  BeginOperation,
  FinalStatus,
  NewStoredTask,
  Operation,
  SettleOperation,
  StoredChange,
  StoredStatus,
  StoreLimits,
} from './operations.ts';
import { longestInline, type ResultFiles } from './result-files.ts';
import { newStateSum, sumOf, type TaskRow, toChange, toWholeTask } from './rows.ts';
import { StoreError } from './store-error.ts';
import type { Tally } from './tally.ts';

type Of<Type extends Operation['type']> = Extract<Operation, { type: Type }>;
type Holder = Pick<Of<'release'>, 'id' | 'attempt' | 'log' | 'progress' | 'now'>;

/** Columns of a task, with what they become. Their names are this program's own. */
type Changes = Partial<Omit<TaskRow, 'seq' | 'id' | 'tool' | 'payload' | 'sum' | 'state_sum'>>;

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

  /** One that is not what was written has failed, and the next one is taken. */
  lease(operation: Of<'lease'>): Answers['lease'] {
    for (;;) {
      const row = this.#lease(operation);
      if (row === undefined) return null;
      try {
        return toWholeTask(row, this.#parts.files.read);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        const { message } = error;
        this.#end(row, { status: 'failed', reason: 'Failed', error: message, now: operation.now });
      }
    }
  }

  #lease({ except, now }: Of<'lease'>): TaskRow | undefined {
    const others = except.length === 0 ? '' : 'AND tool NOT IN (SELECT value FROM json_each(?))';
    const row = this.#database.get(
      `UPDATE tasks SET status = 'running', attempt = attempt + 1, updated_at = ?, started_at = ? WHERE seq =
       (SELECT seq FROM tasks WHERE status = 'pending' ${others} ORDER BY priority DESC, seq LIMIT 1) RETURNING *`,
      ...[now, now, ...(except.length === 0 ? [] : [JSON.stringify(except)])],
    ) as TaskRow | undefined;
    if (row !== undefined) this.#moved(row, 'pending');
    return row;
  }

  settle(operation: SettleOperation): boolean {
    const { id, attempt, result, rpcError, exitCode } = operation;
    const row = this.#held(operation);
    if (row === undefined) return false;
    const bytes = result === null ? 0 : Buffer.byteLength(result);
    const isLong = result !== null && bytes > longestInline;
    const file = isLong ? this.#parts.files.write(id, attempt, result) : null;
    if (file !== null) this.#parts.onWritten(file);
    this.#end(row, operation, {
      ...notesOf(operation),
      result: isLong ? null : result,
      result_file: file,
      result_sum: result === null ? null : crc32(result),
      rpc_error: rpcError,
      exit_code: exitCode,
      bytes: row.bytes + bytes + operation.log.tail.length,
    });
    return true;
  }

  ask(operation: AskOperation): boolean {
    const row = this.#held(operation);
    if (row === undefined) return false;
    const { now, requests, state } = operation;
    if (row.cancelling === 1) {
      this.#end(row, cancelledAt(now), notesOf(operation));
      return true;
    }
    const asked = { input_requests: requests, input_responses: null, request_state: state };
    this.#update(row, { ...notesOf(operation), ...asked, status: 'input_required', updated_at: now });
    if (this.#parts.tally.counts.input_required > this.#parts.limits.maxAsking) this.#endOldestQuestion(now);
    return true;
  }

  /** Not for a task that is to be cancelled: that ends here. */
  release(operation: Of<'release'>): boolean {
    const row = this.#held(operation);
    if (row === undefined) return false;
    const { now } = operation;
    if (row.cancelling === 1) this.#end(row, cancelledAt(now), notesOf(operation));
    else this.#update(row, { ...notesOf(operation), status: 'pending', updated_at: now });
    return true;
  }

  interrupt(operation: Of<'interrupt'>): boolean {
    const row = this.#held(operation);
    if (row !== undefined) this.lose(row, operation.error, operation.now, notesOf(operation));
    return row !== undefined;
  }

  /** The attempt of a running task was lost. */
  lose(row: TaskRow, error: string, now: number, notes: Changes = {}): void {
    if (row.cancelling === 1) this.#end(row, cancelledAt(now), notes);
    else if (row.lost >= row.retries)
      this.#end(row, { status: 'failed', reason: 'Interrupted', error, now }, notes);
    else this.#update(row, { ...notes, lost: row.lost + 1, status: 'pending', updated_at: now });
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
    const isComplete = taken.length === Object.keys(requests).length;
    this.#update(row, {
      input_responses: JSON.stringify(Object.fromEntries(taken)),
      updated_at: now,
      ...(isComplete && { input_requests: null, status: 'pending' }),
    });
    return isComplete ? 'answered' : 'partial';
  }

  cancel({ id, now }: Of<'cancel'>): Answers['cancel'] {
    const row = this.#row('id', id);
    if (row === undefined) return 'unknown';
    if (row.kept_since !== null) return 'finished';
    if (row.status === 'running') {
      this.#update(row, { cancelling: 1 });
      return 'cancelling';
    }
    this.#end(row, cancelledAt(now));
    return 'cancelled';
  }

  find(column: 'id' | 'key', value: string): Answers['get'] {
    const row = this.#row(column, value);
    return row === undefined ? null : toWholeTask(row, this.#parts.files.read);
  }

  adopt({ id, key }: Of<'adopt'>): Answers['adopt'] {
    const row = this.#row('id', id);
    if (row === undefined || (row.key !== null && row.key !== key)) return null;
    if (row.key === null) {
      if (this.#row('key', key) !== undefined) return null;
      this.#update(row, { key });
      this.#parts.tally.remove(row);
      this.#parts.tally.add({ ...row, key });
    }
    return this.find('id', id);
  }

  list(operation: Of<'list'>): Answers['list'] {
    return listTasks(this.#database, operation);
  }

  unanswered({ before }: Of<'unanswered'>): Answers['unanswered'] {
    return unansweredTasks(this.#database, before);
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
    for (const number of [task.priority, task.retries, task.timeoutMs, task.ttlMs, now, startedAt])
      refuseUnsafe(number);
    const attempt = status === 'running' ? 1 : 0;
    const bytes = payload.length;
    this.#database.run(
      `INSERT INTO tasks (id, key, owner, tool, payload, priority, status, attempt, retries, timeout_ms, ttl_ms,
       created_at, updated_at, started_at, bytes, sum, state_sum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[id, key, owner, tool, payload, task.priority, status, attempt, task.retries, task.timeoutMs],
      ...[task.ttlMs, now, now, startedAt, bytes, sumOf(id, tool, payload)],
      newStateSum(task, status, attempt, startedAt),
    );
    this.#parts.tally.add({ key, ttl_ms: task.ttlMs, status, bytes });
    const state = { startedAt, finishedAt: null, reason: null, progress: null };
    this.#parts.tell({ id, key, owner, tool, status, attempt, createdAt: now, ...state });
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

  #end(row: TaskRow, { status, reason, error, now }: End, more: Changes = {}): void {
    this.#update(row, {
      ...more,
      ...{ status, reason, error, updated_at: now, finished_at: now, kept_since: now },
      forget_at: row.ttl_ms === null ? null : Math.min(now + row.ttl_ms, Number.MAX_SAFE_INTEGER),
      ...{ input_requests: null, input_responses: null, request_state: null },
    });
  }

  #update(row: TaskRow, changes: Changes): void {
    const names = Object.keys(changes);
    const sets = names.map((name) => `${name} = ?`).join(', ');
    this.#database.run(`UPDATE tasks SET ${sets} WHERE seq = ?`, ...Object.values(changes), row.seq);
    const next = { ...row, ...changes };
    if (next.status !== row.status) this.#moved(next, row.status);
  }

  #moved(row: TaskRow, from: StoredStatus): void {
    this.#parts.tally.remove({ ...row, status: from });
    this.#parts.tally.add(row);
    this.#parts.tell(toChange(row));
  }
}

/** What the holder knows of the attempt. */
function notesOf({ log, progress }: Holder): Changes {
  const { tail, sequence, truncated } = log;
  return { log_tail: tail, log_sequence: sequence, log_truncated: truncated ? 1 : 0, progress };
}

/** A number that SQLite keeps, but that cannot be read any more: every statement that came to the row would fail. */
function refuseUnsafe(value: number | null): void {
  if (value !== null && !Number.isSafeInteger(value)) throw new RangeError(`${value} is no whole number`);
}

function cancelledAt(now: number): End {
  return { status: 'cancelled', reason: 'Cancelled', error: null, now };
}

function objectIn(text: string | null): Record<string, unknown> {
  const value: unknown = text === null ? {} : JSON.parse(text);
  return isObject(value) ? value : {};
}
