import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import { ApiError } from '../api-error.ts';
import type { Storage } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import type { Cipher } from './cipher.ts';
import { type Change, Entry, History } from './history.ts';
import type { Journal, Row } from './journal.ts';

export interface StoreOptions {
  readonly journal: Journal;
  readonly cipher: Cipher;
  readonly clock: Clock;
  readonly log: Log;
  /** Storages that hold secrets: their rows are sealed. */
  readonly storages: readonly Storage[];
  /** Changes kept in memory per storage. */
  readonly historyLimit: number;
  /** Writes that share one commit at most. */
  readonly batchLimit: number;
}

/** What a write sees and may do; valid only during its call. Reads include earlier writes of the same batch. */
export interface Transaction {
  get(storage: Storage, key: string): Entry | undefined;
  keys(storage: Storage): IterableIterator<string>;
  /** Stores `object` under the next version, which is set as its metadata.resourceVersion in place. */
  put(storage: Storage, key: string, object: ApiObject): Entry;
  /** Removes the key; returns its last state (`last`, or what was stored) at the removal's version. */
  remove(storage: Storage, key: string, last?: ApiObject): Entry;
}

interface Waiting {
  run(transaction: Transaction): unknown;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Undo {
  readonly shelf: Shelf;
  readonly key: string;
  readonly before: Entry | undefined;
}

interface Shelf {
  readonly storage: Storage;
  readonly entries: Map<string, Entry>;
  readonly history: History;
  /** Keys in order, remade after a creation or removal. */
  sorted: readonly string[] | undefined;
}

/** Changes of one storage, all acknowledged, in order. */
export type ChangeListener = (storage: Storage, changes: readonly Change[]) => void;

/**
 * Every object in memory as plain JSON, written through to the journal. Writes queue up and share a commit:
 * a batch runs, commits and becomes visible within one turn of the event loop, so no reader sees what is not on disk.
 */
export class Store {
  readonly #options: StoreOptions;
  readonly #shelves = new Map<string, Shelf>();
  readonly #listeners: ChangeListener[] = [];
  #waiting: Waiting[] = [];
  #scheduled = false;
  #version: number;
  #closed = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#version = options.journal.lastVersion();
    for (const storage of options.storages) this.#addShelf(storage);
    for (const row of options.journal.readAll()) this.#load(row);
  }

  /** The last version given out. */
  get version(): number {
    return this.#version;
  }

  get(storage: Storage, key: string): Entry | undefined {
    return this.#shelf(storage).entries.get(key);
  }

  /** Keys in order of their bytes. */
  keys(storage: Storage): readonly string[] {
    const shelf = this.#shelf(storage);
    shelf.sorted ??= [...shelf.entries.keys()].sort();
    return shelf.sorted;
  }

  history(storage: Storage): History {
    return this.#shelf(storage).history;
  }

  /** Called after each commit, before the writers get their answers. */
  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener);
  }

  /**
   * Runs `write` in the next batch and resolves with what it returns once that is on disk.
   * `write` runs once, synchronously; when it throws it must not have written anything.
   */
  transact<T>(write: (transaction: Transaction) => T): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) {
        reject(new ApiError('ServiceUnavailable', 'the server is shutting down'));
        return;
      }
      this.#waiting.push({ run: write, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Writes what waits, then closes the journal. */
  close(): void {
    while (this.#waiting.length > 0) this.#flush();
    this.#closed = true;
    this.#options.journal.close();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      if (!this.#closed) this.#flush();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }

  #flush(): void {
    const batch = this.#waiting.splice(0, this.#options.batchLimit);
    if (batch.length === 0) return;
    const written: { shelf: Shelf; change: Change }[] = [];
    const undo: Undo[] = [];
    const startVersion = this.#version;
    const answers: (() => void)[] = [];
    try {
      this.#options.journal.begin();
      const transaction = this.#transaction(written, undo);
      for (const one of batch) answers.push(settle(one, transaction));
      if (written.length === 0) this.#options.journal.rollback();
      else this.#options.journal.commit(this.#version);
    } catch (error) {
      this.#undo(undo, startVersion);
      this.#options.log.error('the store could not write', { error });
      for (const one of batch)
        one.reject(new ApiError('InternalError', 'the store could not write; nothing was changed'));
      return;
    }
    this.#publish(written);
    for (const answer of answers) answer();
  }

  #transaction(written: { shelf: Shelf; change: Change }[], undo: Undo[]): Transaction {
    const { journal } = this.#options;
    const note = (shelf: Shelf, key: string, after: Entry | undefined, last: Entry) => {
      const before = shelf.entries.get(key);
      undo.push({ shelf, key, before });
      written.push({ shelf, change: { version: last.version, key, before, after, last } });
      if (after === undefined) shelf.entries.delete(key);
      else shelf.entries.set(key, after);
      if (before === undefined || after === undefined) shelf.sorted = undefined;
    };
    return {
      get: (storage, key) => this.#shelf(storage).entries.get(key),
      keys: (storage) => this.#shelf(storage).entries.keys(),
      put: (storage, key, object) => {
        const shelf = this.#shelf(storage);
        const entry = this.#stamp(object);
        journal.put({
          storage: storage.id,
          key,
          version: entry.version,
          data: this.#encode(storage, key, entry),
        });
        note(shelf, key, entry, entry);
        return entry;
      },
      remove: (storage, key, lastState) => {
        const shelf = this.#shelf(storage);
        const before = shelf.entries.get(key);
        if (before === undefined) throw new Error(`no ${storage.id} ${key} to remove`);
        const state = lastState ?? before.object;
        const last = this.#stamp({ ...state, metadata: { ...state.metadata } });
        journal.remove(storage.id, key);
        note(shelf, key, undefined, last);
        return last;
      },
    };
  }

  #stamp(object: ApiObject): Entry {
    this.#version += 1;
    object.metadata.resourceVersion = String(this.#version);
    return new Entry(object, this.#version);
  }

  #encode(storage: Storage, key: string, entry: Entry): string | Uint8Array {
    return storage.secret ? this.#options.cipher.seal(entry.json, `${storage.id}/${key}`) : entry.json;
  }

  #load(row: Row): void {
    const shelf = this.#shelves.get(row.storage);
    if (shelf === undefined) return;
    const json =
      typeof row.data === 'string'
        ? row.data
        : this.#options.cipher.open(row.data, `${row.storage}/${row.key}`);
    shelf.entries.set(row.key, new Entry(JSON.parse(json) as ApiObject, row.version, json));
  }

  #undo(undo: readonly Undo[], version: number): void {
    for (const { shelf, key, before } of undo.toReversed()) {
      if (before === undefined) shelf.entries.delete(key);
      else shelf.entries.set(key, before);
      shelf.sorted = undefined;
    }
    this.#version = version;
    try {
      this.#options.journal.rollback();
    } catch (error) {
      this.#options.log.error('the store could not roll back', { error });
    }
  }

  #publish(written: readonly { shelf: Shelf; change: Change }[]): void {
    const byShelf = new Map<Shelf, Change[]>();
    for (const { shelf, change } of written) {
      shelf.history.add(change);
      const list = byShelf.get(shelf);
      if (list === undefined) byShelf.set(shelf, [change]);
      else list.push(change);
    }
    for (const [shelf, changes] of byShelf)
      for (const listener of this.#listeners) listener(shelf.storage, changes);
  }

  #addShelf(storage: Storage): void {
    if (this.#shelves.has(storage.id)) return;
    const history = new History(this.#options.historyLimit, this.#version);
    this.#shelves.set(storage.id, { storage, entries: new Map(), history, sorted: undefined });
  }

  #shelf(storage: Storage): Shelf {
    const shelf = this.#shelves.get(storage.id);
    if (shelf === undefined) throw new Error(`no storage ${storage.id}`);
    return shelf;
  }
}

/** Runs one write; what it returns or throws is answered after the commit. */
function settle(one: Waiting, transaction: Transaction): () => void {
  try {
    const value = one.run(transaction);
    return () => one.resolve(value);
  } catch (error) {
    return () => one.reject(error);
  }
}
