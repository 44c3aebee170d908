import { nextTick } from 'node:process';
import type { Worker } from 'node:worker_threads';
import { batchSize } from './batch.ts';
import type { Answers, Operation, StoredChange, StoredCounts } from './operations.ts';
import type { OpeningNote } from './store.ts';
import { StoreError, type StoreErrorCode } from './store-error.ts';
import type { Failure, FromThread, ToThread } from './thread.ts';

/** The store as the agent-server's own thread sees it. */
export interface StoreClient {
  readonly notes: readonly OpeningNote[];
  /** As of the last transaction. */
  readonly counts: StoredCounts;
  /** True once the thread has ended: nothing can be asked any more. */
  readonly isOver: boolean;
  /** What was with the thread when it ended: it may have been carried out. To be given to the next thread. */
  readonly lost: readonly Operation[];
  /**
   * Resolves when it was carried out and is on disk. Rejects with StoreError, and then nothing of it was kept, or what
   * was is undone by the next thread, as far as `LostBatch` says.
   */
  ask<O extends Operation>(operation: O): Promise<Answers[O['type']]>;
  /** Waits for what was asked before. */
  close(): Promise<void>;
}

interface Asked {
  readonly operation: Operation;
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

type Answered = Extract<FromThread, { type: 'answers' }>;

/**
 * Group commit: what is asked while a transaction is being written goes into the next one, so that hundreds share
 * one flush of the disk and a single one waits for nobody. Resolves once the store is open; rejects with StoreError.
 * `onChange` is told every change of status, once it is on disk, after those who asked for it.
 */
export function openStore(worker: Worker, onChange: (change: StoredChange) => void): Promise<StoreClient> {
  return new ThreadClient(worker, onChange).opened;
}

class ThreadClient implements StoreClient {
  notes: readonly OpeningNote[] = [];
  lost: readonly Operation[] = [];
  counts: StoredCounts = noCounts;
  readonly #worker: Worker;
  readonly #onChange: (change: StoredChange) => void;
  readonly #opened = Promise.withResolvers<StoreClient>();
  readonly #closed = Promise.withResolvers<void>();
  #waiting: Asked[] = [];
  #flying: Asked[] | undefined;
  #failure: Error | undefined;
  #isScheduled = false;
  #isClosing = false;

  constructor(worker: Worker, onChange: (change: StoredChange) => void) {
    this.#worker = worker;
    this.#onChange = onChange;
    worker.on('message', (message: FromThread) => this.#hear(message));
    worker.once('error', (error) => this.#fail(ended(`: ${error.message}`)));
    worker.once('exit', () => this.#fail(ended('')));
  }

  get opened(): Promise<StoreClient> {
    return this.#opened.promise;
  }

  get isOver(): boolean {
    return this.#failure !== undefined;
  }

  ask<O extends Operation>(operation: O): Promise<Answers[O['type']]> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) return reject(this.#failure);
      if (this.#isClosing) return reject(new StoreError('QueueUnavailable', 'the agent-server stops'));
      this.#waiting.push({ operation, resolve, reject });
      this.#schedule();
    });
  }

  close(): Promise<void> {
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.#schedule();
    }
    return this.#closed.promise;
  }

  /** After everything that happens by itself in this turn: who asks because of an answer shares the transaction. */
  #schedule(): void {
    if (this.#isScheduled || this.#flying !== undefined) return;
    this.#isScheduled = true;
    queueMicrotask(() => nextTick(() => this.#fly()));
  }

  #fly(): void {
    this.#isScheduled = false;
    if (this.#flying !== undefined) return;
    if (this.#waiting.length === 0) {
      if (this.#isClosing) this.#send({ type: 'close' });
      return;
    }
    const size = batchSize(this.#waiting);
    this.#flying = this.#waiting.slice(0, size);
    this.#waiting = this.#waiting.slice(size);
    this.#send({ type: 'apply', operations: this.#flying.map(({ operation }) => operation) });
  }

  #send(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #hear(message: FromThread): void {
    if (message.type === 'answers') this.#land(message);
    else if (message.type === 'refused') this.#fail(errorOf(message.failure));
    else if (message.type === 'closed') this.#closed.resolve();
    else {
      this.notes = message.notes;
      this.counts = message.counts;
      this.#opened.resolve(this);
    }
  }

  #land({ answers, refused = {}, failure, changes, counts }: Answered): void {
    const landed = this.#flying ?? [];
    this.#flying = undefined;
    this.counts = counts;
    // Those for whose answers there was no room any more are asked again, before the others.
    this.#waiting = [...landed.slice(answers.length), ...this.#waiting];
    answers.forEach((answer, index) => {
      const wrong = refused[index] ?? (answer === undefined ? failure : undefined);
      if (wrong === undefined) landed[index]?.resolve(answer as never);
      else landed[index]?.reject(errorOf(wrong));
    });
    for (const change of changes) this.#onChange(change);
    this.#schedule();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#opened.reject(this.#failure);
    if (this.#flying !== undefined) this.lost = this.#flying.map(({ operation }) => operation);
    for (const asked of [...(this.#flying ?? []), ...this.#waiting]) asked.reject(this.#failure);
    this.#flying = undefined;
    this.#waiting = [];
    this.#closed.resolve();
  }
}

function ended(why: string): StoreError {
  return new StoreError('QueueUnavailable', `the queue ended${why}`);
}

const noCounts: StoredCounts = {
  pending: 0,
  running: 0,
  input_required: 0,
  completed: 0,
  failed: 0,
  cancelled: 0,
};

function errorOf({ code, message, remedy }: Failure): StoreError {
  return new StoreError(code as StoreErrorCode, message, remedy === undefined ? {} : { remedy });
}
