import type { Worker } from 'node:worker_threads';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { Random } from '#kit/random.ts';
import type { Result } from '#mcp/results.ts';
import { AgentServerError } from '../errors.ts';
import { createLogTail, type LogTail } from './log-tail.ts';
import type { Lease, NewTask, Outcome, TaskCounts, TaskQueue, TaskRecord } from './queue.ts';
import type { StoredLog, StoredTask } from './store/operations.ts';
import { openStore, type StoreClient } from './store/store-client.ts';
import { StoreError } from './store/store-error.ts';

export interface DurableQueueOptions {
  /** A thread that runs `serveStore` for the folder. */
  readonly worker: Worker;
  readonly clock: Clock;
  readonly random: Random;
  /** Bytes of log kept for each task, asked when the task starts. */
  readonly logTailBytes: () => number;
  /** Finished tasks that are remembered; the oldest are forgotten first. */
  readonly maxFinished: number;
  /** Tasks that may wait; one more is refused with QueueFull. */
  readonly maxPending: number;
}

/** A task that runs in this process. */
interface Running {
  readonly attempt: number;
  readonly log: LogTail;
  readonly controller: AbortController;
}

/** A queue that loses nothing: whatever it acknowledges is on disk. Rejects with StoreError when it cannot be opened. */
export async function openDurableQueue(options: DurableQueueOptions): Promise<TaskQueue> {
  return new DurableQueue(await openStore(options.worker), options);
}

const noLog: StoredLog = { tail: '', sequence: 0, truncated: false };

class DurableQueue implements TaskQueue {
  readonly #store: StoreClient;
  readonly #options: DurableQueueOptions;
  readonly #running = new Map<string, Running>();
  readonly #listeners = new Set<() => void>();

  constructor(store: StoreClient, options: DurableQueueOptions) {
    this.#store = store;
    this.#options = options;
  }

  async enqueue(task: NewTask): Promise<TaskRecord> {
    const { clock, random, maxPending } = this.#options;
    const stored = await this.#store.ask({
      type: 'add',
      id: random.bytes(8).toString('hex'),
      key: task.key ?? null,
      tool: task.toolName,
      payload: JSON.stringify(task.payload),
      priority: 0,
      timeoutMs: task.timeoutMs ?? null,
      maxAttempts: 1,
      maxPending,
      now: clock.now(),
    });
    if (stored === 'full') {
      throw new AgentServerError('QueueFull', `More than ${maxPending} tasks wait; try again later`);
    }
    this.#announce();
    return this.#toRecord(stored);
  }

  async lease(): Promise<Lease | undefined> {
    const stored = await this.#store.ask({ type: 'lease', now: this.#options.clock.now() });
    if (stored === null) return undefined;
    const controller = new AbortController();
    const log = createLogTail(this.#options.logTailBytes());
    this.#running.set(stored.id, { attempt: stored.attempt, log, controller });
    return { task: this.#toRecord(stored), signal: controller.signal };
  }

  progress(lease: Lease, output: Uint8Array): void {
    this.#held(lease)?.log.append(output);
  }

  async begin(): Promise<Lease> {
    throw new StoreError('QueueUnavailable', 'not yet');
  }

  report(): void {}

  async interrupt(lease: Lease): Promise<boolean> {
    return this.settle(lease, { status: 'failed', error: 'Task interrupted' });
  }

  async answer(): Promise<'ignored'> {
    return 'ignored';
  }

  async getByKey(): Promise<undefined> {}

  counts(): TaskCounts {
    const finished = { completed: 0, failed: 0, cancelled: 0 };
    return { pending: 0, running: this.#running.size, inputRequired: 0, finished };
  }

  onChange(): () => void {
    return () => undefined;
  }

  drain(): void {}

  async settle(lease: Lease, outcome: Outcome): Promise<boolean> {
    const running = this.#held(lease);
    if (running === undefined || outcome.status === 'input_required') return false;
    const result =
      'result' in outcome && outcome.result !== undefined ? JSON.stringify(outcome.result) : null;
    const settled = await this.#store.ask({
      type: 'settle',
      id: lease.task.id,
      attempt: lease.task.attempt,
      status: outcome.status,
      error: outcome.status === 'failed' ? outcome.error : null,
      result,
      log: logOf(running),
      maxFinished: this.#options.maxFinished,
      now: this.#options.clock.now(),
    });
    this.#letGo(lease);
    return settled;
  }

  async release(lease: Lease): Promise<void> {
    if (this.#held(lease) === undefined) return;
    const { id, attempt } = lease.task;
    this.#letGo(lease);
    await this.#store.ask({ type: 'release', id, attempt, now: this.#options.clock.now() });
    this.#announce();
  }

  async cancel(id: string): Promise<'cancelled' | 'cancelling' | 'finished' | 'unknown'> {
    const { clock, maxFinished } = this.#options;
    const said = await this.#store.ask({ type: 'cancel', id, maxFinished, now: clock.now() });
    if (said === 'cancelling') this.#running.get(id)?.controller.abort(new Error('The task was cancelled'));
    return said;
  }

  async get(id: string): Promise<TaskRecord | undefined> {
    const stored = await this.#store.ask({ type: 'get', id });
    return stored === null ? undefined : this.#toRecord(stored);
  }

  async list({ status, limit = 1000 }: Parameters<TaskQueue['list']>[0] = {}): Promise<TaskRecord[]> {
    const stored = await this.#store.ask({ type: 'list', status: status === 'input_required' ? null : (status ?? null), limit });
    return stored.map((task) => this.#toRecord(task));
  }

  onPending(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    for (const { controller } of this.#running.values())
      controller.abort(new Error('The agent-server stops'));
    await this.#store.close();
  }

  #announce(): void {
    queueMicrotask(() => {
      for (const listener of this.#listeners) listener();
    });
  }

  /** While the lease is the current one. */
  #held({ task: { id, attempt } }: Lease): Running | undefined {
    const running = this.#running.get(id);
    return running?.attempt === attempt ? running : undefined;
  }

  #letGo(lease: Lease): void {
    if (this.#held(lease) !== undefined) this.#running.delete(lease.task.id);
  }

  #toRecord(stored: StoredTask): TaskRecord {
    const running = stored.status === 'running' ? this.#running.get(stored.id) : undefined;
    const log = running === undefined ? stored.log : logOf(running);
    return {
      id: stored.id,
      toolName: stored.tool,
      payload: objectOf(stored.payload),
      status: stored.status,
      timeoutMs: stored.timeoutMs,
      attempt: stored.attempt,
      createdAt: new Date(stored.createdAt).toISOString(),
      updatedAt: new Date(stored.updatedAt).toISOString(),
      error: stored.error,
      result: stored.result === null ? null : (objectOf(stored.result) as unknown as Result),
      logTail: log.tail,
      logSeq: log.sequence,
      logTruncated: log.truncated,
      ...unknownMembers,
    };
  }
}

const unknownMembers = {
  key: null,
  owner: null,
  priority: 1,
  ttlMs: null,
  startedAt: null,
  finishedAt: null,
  progress: null,
  inputRequests: null,
  inputResponses: null,
  requestState: null,
  reason: null,
  rpcError: null,
  exitCode: null,
} as const;

function logOf({ log }: Running): StoredLog {
  return log.sequence === 0 ? noLog : { tail: log.text(), sequence: log.sequence, truncated: log.truncated };
}

function objectOf(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  return isObject(value) ? value : {};
}
