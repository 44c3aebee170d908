import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import { AgentServerError } from '../errors.ts';
import { createLogTail, type LogTail } from './log-tail.ts';
import type { Lease, NewTask, Outcome, TaskQueue, TaskRecord, TaskStatus } from './queue.ts';

export interface MemoryQueueOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Bytes of log kept for each task, asked when the task is enqueued. */
  readonly logTailBytes: () => number;
  /** Finished tasks that are remembered; the oldest are forgotten first. */
  readonly maxFinished: number;
  /** Tasks that may wait; one more is refused with QueueFull. */
  readonly maxPending: number;
}

interface Entry {
  readonly id: string;
  readonly task: NewTask;
  readonly createdAt: string;
  readonly log: LogTail;
  status: TaskStatus;
  attempt: number;
  updatedAt: string;
  error: string | null;
  result: TaskRecord['result'];
  controller: AbortController | undefined;
}

/** A queue that forgets everything with its process. */
export function createMemoryQueue(options: MemoryQueueOptions): TaskQueue {
  const store = createStore(options);
  const listeners = new Set<() => void>();
  const announce = () =>
    queueMicrotask(() => {
      for (const listener of listeners) listener();
    });
  return {
    async enqueue(task) {
      const known = store.byKey(task.key);
      if (known !== undefined) return toRecord(known);
      if (store.select('pending').length >= options.maxPending) {
        throw new AgentServerError(
          'QueueFull',
          `More than ${options.maxPending} tasks wait; try again later`,
        );
      }
      announce();
      return toRecord(store.add(task));
    },
    async lease() {
      const entry = store.oldestPending();
      if (entry === undefined) return undefined;
      entry.attempt += 1;
      store.move(entry, 'running');
      entry.controller = new AbortController();
      return { task: toRecord(entry), signal: entry.controller.signal };
    },
    async begin(task) {
      const entry = store.add(task);
      entry.attempt = 1;
      store.move(entry, 'running');
      entry.controller = new AbortController();
      return { task: toRecord(entry), signal: entry.controller.signal };
    },
    report: () => undefined,
    async interrupt(lease) {
      const entry = store.held(lease);
      if (entry !== undefined) store.finish(entry, { status: 'failed', error: 'Task interrupted' });
      return entry !== undefined;
    },
    answer: async () => 'ignored',
    getByKey: async (key) => mapped(store.byKey(key), toRecord),
    counts: () => ({
      pending: store.select('pending').length,
      running: store.select('running').length,
      inputRequired: 0,
      finished: {
        completed: store.select('completed').length,
        failed: store.select('failed').length,
        cancelled: store.select('cancelled').length,
      },
    }),
    onChange: () => () => undefined,
    drain: () => undefined,
    progress: (lease, output) => store.held(lease)?.log.append(output),
    async settle(lease, outcome) {
      const entry = store.held(lease);
      if (entry !== undefined) store.finish(entry, outcome);
      return entry !== undefined;
    },
    async release(lease) {
      const entry = store.held(lease);
      if (entry === undefined) return;
      store.move(entry, 'pending');
      announce();
    },
    async cancel(id) {
      const entry = store.byId(id);
      if (entry === undefined) return 'unknown';
      if (entry.status === 'pending') store.finish(entry, { status: 'cancelled' });
      else if (entry.status !== 'running') return 'finished';
      else entry.controller?.abort(new Error('The task was cancelled'));
      return entry.status === 'running' ? 'cancelling' : 'cancelled';
    },
    get: async (id) => mapped(store.byId(id), toRecord),
    list: async ({ status, limit = 1000 } = {}) => store.select(status, limit).map(toRecord),
    onPending(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      listeners.clear();
      for (const entry of store.select('running'))
        entry.controller?.abort(new Error('The agent-server stops'));
    },
  };
}

interface Store {
  add(task: NewTask): Entry;
  byId(id: string): Entry | undefined;
  byKey(key: string | undefined): Entry | undefined;
  oldestPending(): Entry | undefined;
  /** The entry behind a lease while the lease is the current one. */
  held(lease: Lease): Entry | undefined;
  select(status: TaskStatus | undefined, limit?: number): Entry[];
  move(entry: Entry, status: TaskStatus): void;
  finish(entry: Entry, outcome: Outcome): void;
}

function createStore(options: MemoryQueueOptions): Store {
  const entries = new Map<string, Entry>();
  const keys = new Map<string, string>();
  const finished: string[] = [];
  const now = () => new Date(options.clock.now()).toISOString();
  const isIn = (status: TaskStatus | undefined) => (entry: Entry) =>
    status === undefined || entry.status === status;

  function move(entry: Entry, status: TaskStatus): void {
    entry.status = status;
    entry.updatedAt = now();
    entry.controller = undefined;
  }
  function forget(id: string | undefined): void {
    const entry = entries.get(id ?? '');
    if (entry === undefined) return;
    if (entry.task.key !== undefined) keys.delete(entry.task.key);
    entries.delete(entry.id);
  }
  return {
    add(task) {
      const id = options.random.bytes(8).toString('hex');
      const entry = newEntry(id, task, now(), createLogTail(options.logTailBytes()));
      entries.set(id, entry);
      if (task.key !== undefined) keys.set(task.key, id);
      return entry;
    },
    byId: (id) => entries.get(id),
    byKey: (key) => (key === undefined ? undefined : entries.get(keys.get(key) ?? '')),
    oldestPending: () => entries.values().find(isIn('pending')),
    held(lease) {
      const entry = entries.get(lease.task.id);
      return entry?.status === 'running' && entry.attempt === lease.task.attempt ? entry : undefined;
    },
    select: (status, limit = entries.size) => entries.values().filter(isIn(status)).take(limit).toArray(),
    move,
    finish(entry, outcome) {
      move(entry, outcome.status);
      if (outcome.status === 'failed') entry.error = outcome.error;
      if ('result' in outcome && outcome.result !== undefined) entry.result = outcome.result;
      finished.push(entry.id);
      if (finished.length > options.maxFinished) forget(finished.shift());
    },
  };
}

function newEntry(id: string, task: NewTask, createdAt: string, log: LogTail): Entry {
  return {
    id,
    task,
    createdAt,
    log,
    status: 'pending',
    attempt: 0,
    updatedAt: createdAt,
    error: null,
    result: null,
    controller: undefined,
  };
}

function toRecord(entry: Entry): TaskRecord {
  return {
    id: entry.id,
    toolName: entry.task.toolName,
    payload: entry.task.payload,
    status: entry.status,
    timeoutMs: entry.task.timeoutMs ?? null,
    attempt: entry.attempt,
    createdAt: entry.createdAt,
    updatedAt: entry.updatedAt,
    error: entry.error,
    result: entry.result,
    logTail: entry.log.text(),
    logSeq: entry.log.sequence,
    logTruncated: entry.log.truncated,
    ...unknownMembers,
    key: entry.task.key ?? null,
    owner: entry.task.owner ?? null,
  };
}

const unknownMembers = {
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

function mapped<A, B>(value: A | undefined, map: (value: A) => B): B | undefined {
  return value === undefined ? undefined : map(value);
}
