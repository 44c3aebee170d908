import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import type { Redactor } from '#kit/redact.ts';
import { AgentServerError } from '../errors.ts';
import type { Progress } from '../source.ts';
import { type Said, toOperation } from './outcome-operation.ts';
import type {
  Lease,
  NewTask,
  Outcome,
  TaskChange,
  TaskCounts,
  TaskFilter,
  TaskQueue,
  TaskRecord,
} from './queue.ts';
import { RunningTasks, retryMs } from './running-tasks.ts';
import type { Answers, NewStoredTask, StoredTask } from './store/operations.ts';
import { StoreLink, type StoreLinkOptions } from './store-link.ts';
import { createTaskIds } from './task-ids.ts';
import { toChange, toNewRecord, toRecord } from './task-record.ts';

export interface DurableQueueOptions extends Omit<StoreLinkOptions, 'held' | 'onChange' | 'onOpen'> {
  readonly clock: Clock;
  readonly random: Random;
  /** Bytes of log kept for each task, asked when the task starts. */
  readonly logTailBytes: () => number;
  /** What is taken out of logs and messages, asked when it is needed. Default: nothing. */
  readonly redactor?: (() => Redactor) | undefined;
}

/** Milliseconds between two looks for what is to be forgotten. */
const sweepMs = 60_000;
/** Milliseconds that the disk may take at the end. */
const closeMs = 5000;
const interruption: Said = { type: 'interrupt', error: 'Task interrupted before completion' };

/**
 * A queue that loses nothing: whatever it acknowledges is on disk. Opened with the first task, or at once when an
 * earlier process left some.
 */
export function createTaskQueue(options: DurableQueueOptions): TaskQueue {
  return new DurableQueue(options);
}

class DurableQueue implements TaskQueue {
  readonly #link: StoreLink;
  readonly #options: DurableQueueOptions;
  readonly #newId: () => string;
  readonly #running: RunningTasks;
  readonly #listeners = new Set<() => void>();
  readonly #changeListeners = new Set<(change: TaskChange) => void>();
  #cancelSweep = () => {};
  #cancelRetry = () => {};
  /** What is being written before it is held. */
  readonly #arriving = new Set<Promise<unknown>>();
  #isDraining = false;
  #isClosed = false;

  constructor(options: DurableQueueOptions) {
    const { clock, logTailBytes, redactor } = options;
    this.#options = options;
    this.#newId = createTaskIds(options.random);
    this.#running = new RunningTasks({
      clock,
      logTailBytes,
      redactor,
      record: (operation) => this.#link.ask(operation),
    });
    this.#link = new StoreLink({
      ...options,
      held: () => this.#running.ids(),
      onChange: (change) => this.#tell(toChange(change)),
      onOpen: () => this.#onOpen(),
    });
  }

  async enqueue(task: NewTask): Promise<TaskRecord> {
    const stored = this.#stored(task);
    const asked = this.#link.ask({ type: 'add', ...stored });
    // At once: who leases because of it shares its transaction.
    this.#announce();
    const said = await asked;
    if (said === 'added') return toNewRecord(stored, 0, null);
    if (said !== 'full') return this.#toRecord(said);
    const { maxPending, maxPendingBytes } = this.#options.limits;
    const room = `${maxPending} tasks and ${maxPendingBytes} bytes of their arguments`;
    throw new AgentServerError('QueueFull', `More than ${room} would wait; try again later`);
  }

  async begin(task: Omit<NewTask, 'key'>, startedAt = this.#options.clock.now()): Promise<Lease> {
    const stored = this.#stored({ ...task, key: undefined });
    const begun = Math.round(startedAt);
    const asked = this.#link.ask({ type: 'begin', ...stored, startedAt: begun });
    return this.#arrive(asked.then(() => this.#running.hold(toNewRecord(stored, 1, begun))));
  }

  async lease(except: readonly string[] = []): Promise<Lease | undefined> {
    if (this.#isDraining) return undefined;
    return this.#arrive(this.#lease(except));
  }

  #arrive<T>(lease: Promise<T>): Promise<T> {
    this.#arriving.add(lease);
    return lease.finally(() => this.#arriving.delete(lease));
  }

  async #lease(except: readonly string[]): Promise<Lease | undefined> {
    const { clock } = this.#options;
    try {
      const stored = await this.#link.askKept({ type: 'lease', except, now: clock.now() }, null);
      if (stored === null) return undefined;
      const lease = this.#running.hold(toRecord(stored));
      if (!this.#isDraining) return lease;
      await this.#running.record(lease, { type: 'release' });
      return undefined;
    } catch (error) {
      this.#cancelRetry();
      if (!this.#isClosed) this.#cancelRetry = clock.after(retryMs, () => this.#announce());
      throw error;
    }
  }

  progress(lease: Lease, output: Uint8Array): void {
    this.#running.append(lease, output);
  }

  report(lease: Lease, progress: Progress): void {
    if (!this.#running.report(lease, progress)) return;
    const { id, key, owner, toolName, attempt, createdAt, startedAt } = lease.task;
    const state = { status: 'running', finishedAt: null, reason: null } as const;
    this.#tell({ id, key, owner, toolName, attempt, createdAt, startedAt, ...state, progress });
  }

  settle(lease: Lease, outcome: Outcome): Promise<boolean> {
    return this.#running.record(lease, toOperation(outcome, lease.signal.aborted));
  }

  async release(lease: Lease): Promise<void> {
    if (await this.#running.record(lease, { type: 'release' })) this.#announce();
  }

  async interrupt(lease: Lease): Promise<boolean> {
    const isRecorded = await this.#running.record(lease, interruption);
    if (isRecorded) this.#announce();
    return isRecorded;
  }

  async answer(id: string, responses: Readonly<Record<string, unknown>>): Promise<Answers['answer']> {
    const text = JSON.stringify(responses);
    const now = this.#options.clock.now();
    const said = await this.#link.askKept({ type: 'answer', id, responses: text, now }, 'unknown');
    if (said === 'answered') this.#announce();
    return said;
  }

  async cancel(id: string): Promise<Answers['cancel']> {
    const now = this.#options.clock.now();
    const said = await this.#link.askKept({ type: 'cancel', id, now }, 'unknown');
    if (said === 'cancelling') this.#running.abort(id, new Error('The task was cancelled'));
    return said;
  }

  async get(id: string): Promise<TaskRecord | undefined> {
    const stored = await this.#link.askKept({ type: 'get', id }, null);
    return stored === null ? undefined : this.#toRecord(stored);
  }

  async getByKey(key: string): Promise<TaskRecord | undefined> {
    const stored = await this.#link.askKept({ type: 'getByKey', key }, null);
    return stored === null ? undefined : this.#toRecord(stored);
  }

  async adopt(id: string, key: string): Promise<TaskRecord | undefined> {
    const stored = await this.#link.askKept({ type: 'adopt', id, key }, null);
    return stored === null ? undefined : this.#toRecord(stored);
  }

  async list({ status, owner, after, limit = 1000 }: TaskFilter = {}): Promise<TaskRecord[]> {
    const stored = await this.#link.askKept(
      { type: 'list', status: status ?? null, owner: owner ?? null, after: after ?? null, limit },
      [],
    );
    return stored.map((task) => ({ ...this.#toRecord(task), logTail: '' }));
  }

  unanswered(before: number): Promise<readonly string[]> {
    return this.#link.askKept({ type: 'unanswered', before }, []);
  }

  counts(): TaskCounts {
    const counts = this.#link.counts;
    const { completed = 0, failed = 0, cancelled = 0 } = counts ?? {};
    return {
      pending: counts?.pending ?? 0,
      running: counts?.running ?? 0,
      inputRequired: counts?.input_required ?? 0,
      finished: { completed, failed, cancelled },
    };
  }

  onPending(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onChange(listener: (change: TaskChange) => void): () => void {
    this.#changeListeners.add(listener);
    return () => this.#changeListeners.delete(listener);
  }

  drain(): void {
    this.#isDraining = true;
  }

  async end(): Promise<void> {
    this.drain();
    await Promise.allSettled(this.#arriving);
    await this.#running.end();
  }

  async close(): Promise<void> {
    this.drain();
    this.#isClosed = true;
    this.#listeners.clear();
    this.#cancelSweep();
    this.#cancelRetry();
    await this.#withinTime(this.#running.close(interruption).then(() => this.#link.close()));
    this.#changeListeners.clear();
  }

  /** A disk that does not answer must not keep the process: what it did not take is interrupted at the next start. */
  async #withinTime(closing: Promise<void>): Promise<void> {
    const over = new AbortController();
    const late = this.#options.clock.sleep(closeMs, over.signal).catch(() => undefined);
    await Promise.race([closing, late]);
    over.abort();
  }

  #stored(task: Omit<NewTask, 'key'> & { readonly key?: string | undefined }): NewStoredTask {
    return {
      id: this.#newId(),
      key: task.key ?? null,
      owner: task.owner ?? null,
      tool: task.toolName,
      payload: JSON.stringify(task.payload),
      priority: task.priority ?? 1,
      timeoutMs: whole(task.timeoutMs),
      ttlMs: whole(task.ttlMs, this.#options.limits.retentionMs),
      retries: whole(task.retries) ?? 0,
      now: this.#options.clock.now(),
    };
  }

  #onOpen(): void {
    this.#announce();
    this.#sweepLater();
  }

  #sweepLater(): void {
    const { clock } = this.#options;
    this.#cancelSweep();
    if (this.#isClosed) return;
    this.#cancelSweep = clock.after(sweepMs, () => {
      const swept = this.#link.askKept({ type: 'sweep', now: clock.now() }, true);
      void swept.catch(() => undefined).then(() => this.#sweepLater());
    });
  }

  #announce(): void {
    for (const listener of this.#listeners) listener();
  }

  #tell(change: TaskChange): void {
    for (const listener of this.#changeListeners) listener(change);
  }

  #toRecord(stored: StoredTask): TaskRecord {
    return this.#running.withHeld(toRecord(stored));
  }
}

/** SQLite's integers take no fractions, and larger ones cannot be read any more. */
function whole(value: number | undefined, most = Number.MAX_SAFE_INTEGER): number | null {
  return value === undefined ? null : Math.min(Math.max(Math.round(value), 0), most);
}
