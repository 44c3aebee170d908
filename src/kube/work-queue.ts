import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import { keyText, type ObjectKey } from './key.ts';
import { type Metrics, noMetrics } from './metrics.ts';
import { createQueueMetrics } from './queue-metrics.ts';

/**
 * Keys to reconcile. A key waits at most once and is never handed out twice at the same time: one that is added
 * while it is being processed is handed out again afterwards. After every `add` there is a `take` that begins later.
 */
export interface WorkQueue {
  /** Keys that wait to be taken now, without delayed ones. */
  readonly length: number;
  /**
   * Wants the key processed as soon as possible. Absorbs a delayed add of the same key. `first` puts it before
   * everything that waits without it, but for every eighth key, so that nothing waits for ever.
   */
  add(key: ObjectKey, order?: Order): void;
  /** Wants the key processed in `ms` at the latest. The earliest wins; nothing when it waits already. */
  addAfter(key: ObjectKey, ms: number): void;
  /** `addAfter` with this key's backoff, which grows with each call until `forget`. Returns the delay in ms. */
  retry(key: ObjectKey, limits?: RetryLimits): number;
  /** Ends the key's backoff. Does not take it out of the queue. */
  forget(key: ObjectKey): void;
  /** Failures in a row that `retry` has counted. */
  failures(key: ObjectKey): number;
  /** The next key, those added `first` before the others, else in order of adding; undefined once the queue is closed. Each has to be given back by `done`. */
  take(): Promise<ObjectKey | undefined>;
  done(key: ObjectKey): void;
  /** Drops everything that waits, takes nothing more, answers every `take` with undefined. */
  close(): void;
}

/** Where a key goes in the queue: `last` is behind everything that waits. */
export type Order = 'first' | 'last';

export interface RetryLimits {
  /** Delay of at least this, in milliseconds: the server's Retry-After. Default 0. */
  readonly minMs?: number;
  /** Delay of at most this, in milliseconds, unless `minMs` is more. Default: the queue's own maximum. */
  readonly maxMs?: number;
}

export interface WorkQueueOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics?: Metrics;
  /** Of a key that fails. Default 50 ms, doubling to 300,000 ms, ±10 %. */
  readonly backoff?: BackoffOptions;
}

interface Entry {
  readonly key: ObjectKey;
  state: 'delayed' | 'waiting' | 'processing' | 'dirty' | 'idle';
  /** Monotonic milliseconds at which the delayed add is due, and how to call it off. */
  delay: { readonly due: number; readonly cancel: () => void } | undefined;
  failures: number;
  /** Of the latest add that was not handed out yet. */
  order: Order;
}

/** So many keys that were added `first` in a row, then one of the others if any waits. */
const mostFirstInARow = 7;

const defaultBackoff: BackoffOptions = { initial: 50, max: 300_000, jitter: 0.1 };

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  return new KeyQueue(options);
}

class KeyQueue implements WorkQueue {
  readonly #entries = new Map<string, Entry>();
  /** Insertion order is the order of handing out. */
  readonly #waiting: Readonly<Record<Order, Set<Entry>>> = { first: new Set(), last: new Set() };
  #firstInARow = 0;
  readonly #takers: ((key: ObjectKey | undefined) => void)[] = [];
  readonly #options: WorkQueueOptions;
  readonly #metrics;
  #closed = false;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#metrics = createQueueMetrics(options.name, options.clock, options.metrics ?? noMetrics);
  }

  get length(): number {
    return this.#waiting.first.size + this.#waiting.last.size;
  }

  add(key: ObjectKey, order: Order = 'last'): void {
    if (this.#closed) return;
    const entry = this.#entry(key);
    if (entry.state === 'waiting' || entry.state === 'dirty') {
      if (order === 'first') this.#moveUp(entry);
      return;
    }
    entry.order = order;
    this.#cancelDelay(entry);
    this.#metrics.added(entry);
    if (entry.state === 'processing') entry.state = 'dirty';
    else this.#enqueue(entry);
  }

  addAfter(key: ObjectKey, ms: number): void {
    if (ms <= 0) {
      this.add(key);
      return;
    }
    if (this.#closed) return;
    const entry = this.#entry(key);
    if (entry.state === 'waiting' || entry.state === 'dirty') return;
    const due = this.#options.clock.monotonic() + ms;
    if (entry.delay !== undefined && entry.delay.due <= due) return;
    entry.delay?.cancel();
    const cancel = this.#options.clock.after(ms, () => this.add(key));
    entry.delay = { due, cancel };
    if (entry.state === 'idle') entry.state = 'delayed';
  }

  retry(key: ObjectKey, limits: RetryLimits = {}): number {
    const entry = this.#entry(key);
    entry.failures += 1;
    this.#metrics.retried();
    const { backoff = defaultBackoff, random } = this.#options;
    const own = backoffDelay(backoff, entry.failures, random.fraction());
    const delay = Math.max(Math.min(own, limits.maxMs ?? own), limits.minMs ?? 0);
    this.addAfter(key, delay);
    return delay;
  }

  forget(key: ObjectKey): void {
    const entry = this.#entries.get(keyText(key));
    if (entry === undefined) return;
    entry.failures = 0;
    this.#release(entry);
  }

  failures(key: ObjectKey): number {
    return this.#entries.get(keyText(key))?.failures ?? 0;
  }

  take(): Promise<ObjectKey | undefined> {
    if (this.#closed) return Promise.resolve(undefined);
    const next = this.#next();
    if (next !== undefined) return Promise.resolve(this.#begin(next));
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  done(key: ObjectKey): void {
    const entry = this.#entries.get(keyText(key));
    if (entry === undefined || (entry.state !== 'processing' && entry.state !== 'dirty')) return;
    this.#metrics.done(entry);
    const wasDirty = entry.state === 'dirty';
    entry.state = entry.delay === undefined ? 'idle' : 'delayed';
    if (wasDirty && !this.#closed) this.#enqueue(entry);
    else this.#release(entry);
  }

  close(): void {
    this.#closed = true;
    for (const entry of this.#entries.values()) entry.delay?.cancel();
    this.#waiting.first.clear();
    this.#waiting.last.clear();
    this.#metrics.depth(0);
    for (const taker of this.#takers.splice(0)) taker(undefined);
  }

  #entry(key: ObjectKey): Entry {
    const text = keyText(key);
    let entry = this.#entries.get(text);
    if (entry === undefined) {
      entry = { key, state: 'idle', delay: undefined, failures: 0, order: 'last' };
      this.#entries.set(text, entry);
    }
    return entry;
  }

  #enqueue(entry: Entry): void {
    this.#cancelDelay(entry);
    entry.state = 'waiting';
    this.#waiting[entry.order].add(entry);
    this.#metrics.depth(this.length);
    const taker = this.#takers.shift();
    if (taker !== undefined) taker(this.#begin(entry));
  }

  #begin(entry: Entry): ObjectKey {
    this.#waiting[entry.order].delete(entry);
    this.#metrics.depth(this.length);
    this.#metrics.started(entry);
    entry.state = 'processing';
    entry.order = 'last';
    return entry.key;
  }

  #next(): Entry | undefined {
    const [first] = this.#waiting.first;
    const [last] = this.#waiting.last;
    const turn = this.#firstInARow >= mostFirstInARow;
    const next = turn ? (last ?? first) : (first ?? last);
    this.#firstInARow = next === first && next !== undefined ? this.#firstInARow + 1 : 0;
    return next;
  }

  #moveUp(entry: Entry): void {
    if (entry.state === 'waiting' && this.#waiting.last.delete(entry)) this.#waiting.first.add(entry);
    entry.order = 'first';
  }

  #cancelDelay(entry: Entry): void {
    entry.delay?.cancel();
    entry.delay = undefined;
  }

  /** Keeps no memory of a key about which nothing is to be remembered. */
  #release(entry: Entry): void {
    if (entry.state === 'idle' && entry.failures === 0) this.#entries.delete(keyText(entry.key));
  }
}
