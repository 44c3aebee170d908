import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { isFile } from './store/is-file.ts';
import type { Answers, Operation, StoredChange, StoredCounts, StoreLimits } from './store/operations.ts';
import type { OpeningNote } from './store/store.ts';
import { openStore, type StoreClient } from './store/store-client.ts';
import { StoreError } from './store/store-error.ts';
import type { ThreadData } from './store/thread.ts';

export interface StoreLinkOptions {
  /** Of the queue; made with the first task. */
  readonly folder: string;
  /** Files of the reference whose tasks are taken over. */
  readonly imports: readonly string[];
  readonly limits: StoreLimits;
  /** A thread that runs `serveStore` with these data. */
  readonly startThread: (data: ThreadData) => Worker | Promise<Worker>;
  readonly clock: Clock;
  readonly log: Log;
  /** Ids of the tasks that run in this process. */
  readonly held: () => readonly string[];
  readonly onChange: (change: StoredChange) => void;
  /** Open, for the first time or again. */
  readonly onOpen: () => void;
}

/** Milliseconds until an opening that failed is tried again: what is in use or full may pass soon. */
const retryMs = 1000;
/** For what somebody must repair first. */
const repairMs = 10_000;

/** The way to a store that is opened when it is needed, and again when its thread ended. */
export class StoreLink {
  readonly #options: StoreLinkOptions;
  #client: StoreClient | undefined;
  #opening: Promise<StoreClient> | undefined;
  #failure: { readonly error: Error; readonly until: number } | undefined;
  #told: string | undefined;
  #cancelRetry = () => {};
  #isClosed = false;

  /** Opens at once what an earlier process left. */
  constructor(options: StoreLinkOptions) {
    this.#options = options;
    if (this.#isKept()) void this.#open().catch(() => undefined);
  }

  get counts(): StoredCounts | undefined {
    return this.#client?.counts;
  }

  /** Opens the store, or makes it. Rejects with StoreError. */
  async ask<O extends Operation>(operation: O): Promise<Answers[O['type']]> {
    const client = this.#client?.isOver === false ? this.#client : await this.#open();
    return client.ask(operation);
  }

  /** `otherwise` when there is no store, and so no task. */
  async askKept<O extends Operation>(
    operation: O,
    otherwise: Answers[O['type']],
  ): Promise<Answers[O['type']]> {
    const isKept = this.#client !== undefined || this.#opening !== undefined || this.#isKept();
    return isKept ? this.ask(operation) : otherwise;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelRetry();
    const client = (await this.#opening?.catch(() => undefined)) ?? this.#client;
    if (client?.isOver === false) await client.close();
  }

  #isKept(): boolean {
    const { folder, imports } = this.#options;
    return existsSync(join(folder, 'tasks.sqlite')) || [folder, ...imports].some(isFile);
  }

  #open(): Promise<StoreClient> {
    const { clock } = this.#options;
    if (this.#isClosed) return Promise.reject(new StoreError('QueueUnavailable', 'the agent-server stops'));
    if (this.#failure !== undefined && clock.monotonic() < this.#failure.until)
      return Promise.reject(this.#failure.error);
    this.#opening ??= this.#start().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #start(): Promise<StoreClient> {
    const { folder, imports, limits, clock, held } = this.#options;
    const lost = this.#client?.lost ?? [];
    const data = { folder, imports, limits, held: held(), lost, now: clock.now() };
    try {
      const client = await openStore(await this.#options.startThread(data), this.#options.onChange);
      this.#client = client;
      this.#failure = undefined;
      this.#told = undefined;
      this.#cancelRetry();
      for (const note of client.notes) this.#tell(note);
      queueMicrotask(this.#options.onOpen);
      return client;
    } catch (error) {
      throw this.#onFailed(error);
    }
  }

  #onFailed(thrown: unknown): Error {
    const { clock, log, folder } = this.#options;
    const error = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
    const passes = ['QueueUnavailable', 'QueueInUse'].includes(codeOf(error) ?? '');
    const waitMs = passes ? retryMs : repairMs;
    this.#failure = { error, until: clock.monotonic() + waitMs };
    if (this.#told !== error.message) {
      const remedy = error instanceof StoreError ? error.remedy : undefined;
      log.error('The queue of tasks cannot be opened', { folder, error: error.message, remedy });
    }
    this.#told = error.message;
    this.#cancelRetry();
    if (!this.#isClosed) {
      this.#cancelRetry = clock.after(waitMs + 1, () => {
        if (this.#isKept()) void this.#open().catch(() => undefined);
      });
    }
    return error;
  }

  #tell(note: OpeningNote): void {
    const { log } = this.#options;
    const { type, ...fields } = note;
    if (type === 'torn')
      log.warn('The end of the log of tasks was torn: what was not acknowledged is left out', fields);
    else if (type === 'imported') log.info('Tasks of a queue file were taken over', fields);
    else if (type === 'unreadable')
      log.error('A queue file cannot be read, its tasks are not taken over', fields);
    else log.warn('Tasks were interrupted by the end of the last agent-server', fields);
  }
}
