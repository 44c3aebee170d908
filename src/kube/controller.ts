import type { BackoffOptions } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { TerminalError } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { createControllerMetrics, type Outcome } from './controller-metrics.ts';
import { isConflict, isUnavailable, retryAfterOf } from './errors.ts';
import type { ObjectKey } from './key.ts';
import { type Metrics, noMetrics } from './metrics.ts';
import type { Result } from './result.ts';
import type { Source } from './sources.ts';
import { createWorkQueue, type WorkQueue } from './work-queue.ts';

export interface ReconcileContext {
  /** Carries the controller's and the object's name. */
  readonly log: Log;
  /** Aborts when the reconcile takes longer than its limit, or the controller's stop has waited long enough. */
  readonly signal: AbortSignal;
}

/**
 * Moves the world towards what the object of `key` says; the object may be gone. Gets only *which* object, so it
 * reads everything again. Throwing a TerminalError gives the key up until it changes; any other error is tried
 * again with backoff, a 409 Conflict without noise, because the cache was merely late.
 */
export type Reconcile = (key: ObjectKey, context: ReconcileContext) => Promise<Result>;

export interface ControllerOptions {
  /** In logs and metrics. */
  readonly name: string;
  readonly sources: readonly Source[];
  readonly reconcile: Reconcile;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Keys reconciled at the same time; one key never twice. Default 1. */
  readonly concurrency?: number;
  /** Of a key that fails. Default 50 ms, doubling to 300,000 ms, ±10 %. */
  readonly backoff?: BackoffOptions;
  /** Longest wait while the API itself is down or overloaded, when Retry-After says no more. Default 4,000 ms. */
  readonly unavailableMaxMs?: number;
  /** Time for one reconcile, after which its signal aborts. Default 60,000 ms. */
  readonly timeoutMs?: number;
}

export interface Controller {
  readonly name: string;
  /** Starts the sources, waits until all have synced, then starts the workers and resolves. Once only. */
  start(): Promise<void>;
  /** Wants a key reconciled, from outside of the sources. Before `start` it waits. */
  enqueue(key: ObjectKey): void;
  /**
   * Takes no more keys and waits for running reconciles; after `graceMs` (default 30,000) their signals abort.
   * Resolves when all have returned. Does not stop informers: they may be shared.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

export function createController(options: ControllerOptions): Controller {
  return new ReconcileLoop(options);
}

class ReconcileLoop implements Controller {
  readonly name: string;
  readonly #options: ControllerOptions;
  readonly #queue: WorkQueue;
  readonly #log: Log;
  readonly #metrics;
  readonly #abort = new AbortController();
  readonly #stopped = Promise.withResolvers<void>();
  #isStopped = false;
  #stopSources: (() => void)[] = [];
  #workers: Promise<void>[] = [];

  constructor(options: ControllerOptions) {
    const { name, clock, random, metrics = noMetrics, backoff } = options;
    this.name = name;
    this.#options = options;
    this.#log = options.log.with({ controller: name });
    this.#queue = createWorkQueue({ name, clock, random, metrics, ...(backoff && { backoff }) });
    this.#metrics = createControllerMetrics(name, options.concurrency ?? 1, metrics);
  }

  async start(): Promise<void> {
    const { sources, concurrency = 1 } = this.#options;
    this.#stopSources = sources.map((source) =>
      source.start(
        (key) => this.#queue.add(key),
        (key) => this.#queue.add(key, 'first'),
      ),
    );
    await Promise.race([Promise.all(sources.map((source) => source.synced)), this.#stopped.promise]);
    if (this.#isStopped) return;
    this.#workers = Array.from({ length: concurrency }, () => this.#work());
    this.#log.info('controller started');
  }

  enqueue(key: ObjectKey): void {
    this.#queue.add(key);
  }

  async stop({ graceMs = 30_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    for (const stop of this.#stopSources) stop();
    this.#queue.close();
    this.#isStopped = true;
    this.#stopped.resolve();
    const cancel = this.#options.clock.after(graceMs, () => {
      this.#abort.abort(new Error('the controller is stopping'));
    });
    await Promise.all(this.#workers);
    cancel();
  }

  async #work(): Promise<void> {
    for (let key = await this.#queue.take(); key !== undefined; key = await this.#queue.take()) {
      const startedAt = this.#options.clock.monotonic();
      this.#metrics.began();
      const outcome = await this.#reconcile(key);
      this.#metrics.ended(outcome, (this.#options.clock.monotonic() - startedAt) / 1000);
      this.#queue.done(key);
    }
  }

  async #reconcile(key: ObjectKey): Promise<Outcome> {
    const log = this.#log.with({ namespace: key.namespace, name: key.name });
    const limit = this.#limit();
    try {
      const result = await this.#options.reconcile(key, { log, signal: limit.signal });
      this.#queue.forget(key);
      if (result.kind === 'settled') return 'success';
      this.#queue.addAfter(key, result.afterMs);
      return 'requeue_after';
    } catch (error) {
      return this.#handleError(key, error, log);
    } finally {
      limit.clear();
    }
  }

  #handleError(key: ObjectKey, error: unknown, log: Log): Outcome {
    if (error instanceof TerminalError) {
      this.#queue.forget(key);
      log.error('reconcile failed for good, waiting for a change', { error });
      return 'terminal';
    }
    if (isConflict(error)) {
      const retryInMs = this.#queue.retry(key);
      log.debug('the object changed meanwhile, reconciling again', { retryInMs });
      return 'requeue';
    }
    const { unavailableMaxMs = 4_000 } = this.#options;
    const limits = { minMs: retryAfterOf(error), ...(isUnavailable(error) && { maxMs: unavailableMaxMs }) };
    const retryInMs = Math.round(this.#queue.retry(key, limits));
    log.error('reconcile failed', { error, failures: this.#queue.failures(key), retryInMs });
    return 'error';
  }

  #limit(): { signal: AbortSignal; clear: () => void } {
    const { clock, timeoutMs = 60_000 } = this.#options;
    const controller = new AbortController();
    const forward = () => controller.abort(this.#abort.signal.reason);
    if (this.#abort.signal.aborted) forward();
    this.#abort.signal.addEventListener('abort', forward, { once: true });
    const cancel = clock.after(timeoutMs, () => {
      controller.abort(new Error(`the reconcile took longer than ${timeoutMs} ms`));
    });
    return {
      signal: controller.signal,
      clear: () => {
        cancel();
        this.#abort.signal.removeEventListener('abort', forward);
      },
    };
  }
}
