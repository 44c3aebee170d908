import type { KubeObject } from '#api/meta.ts';
import { type BackoffOptions, backoffDelay } from '#kit/backoff.ts';
import type { Log } from '#kit/log.ts';
import { ApiError, isForbidden, isGone, retryAfterOf } from './errors.ts';
import { followWatch } from './follow-watch.ts';
import { listPages } from './list-pages.ts';
import { type Counter, type Metrics, noMetrics } from './metrics.ts';
import type { ReflectorOptions } from './reflector-options.ts';

export interface Reflector {
  /** Resolves after the first complete list; never rejects, and never resolves when stopped before. */
  readonly synced: Promise<void>;
  /** Ends the watch and resolves when nothing will touch the store any more. */
  stop(): Promise<void>;
}

/**
 * Keeps `store` equal to what the API holds: list in pages, then watch from the list's version and resume from
 * the last version seen, for ever. Lists again only when the server no longer has that version. However the
 * server fails, at most one request follows each backoff, and the store keeps what it has.
 */
export function startReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector {
  const ended = new AbortController();
  const loop = new ReflectorLoop(options, ended.signal);
  const running = loop.run();
  return {
    synced: loop.synced.promise,
    stop: async () => {
      ended.abort(new Error('the reflector was stopped'));
      await running;
    },
  };
}

const defaultBackoff: BackoffOptions = { initial: 250, max: 4_000, jitter: 0.25 };

class ReflectorLoop<T extends KubeObject> {
  readonly synced = Promise.withResolvers<void>();
  readonly #options: ReflectorOptions<T>;
  readonly #signal: AbortSignal;
  readonly #log: Log;
  readonly #requests: { readonly lists: Counter; readonly watches: Counter };
  /** Where to watch from; undefined means that a list has to come first. */
  #version: string | undefined;
  /** The newest version that a list or watch gave. Tells a list of a server that was set back. */
  #lastSeen: string | undefined;
  /** Attempts since the last one that brought something. */
  #failures = 0;

  constructor(options: ReflectorOptions<T>, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    this.#log = options.log.with({ resource: options.resource.plural });
    this.#requests = countRequests(options.metrics ?? noMetrics);
  }

  async run(): Promise<void> {
    while (!this.#signal.aborted) {
      const waitMs = await this.#attempt();
      if (waitMs > 0) await this.#options.clock.sleep(waitMs, this.#signal).catch(() => undefined);
    }
  }

  /** One list where needed and one watch. Returns how long to leave the server alone. */
  async #attempt(): Promise<number> {
    try {
      this.#version ??= await this.#list();
      this.#requests.watches.inc({ resource: this.#options.resource.plural });
      const end = await followWatch(this.#options, this.#version, this.#signal);
      this.#version = this.#lastSeen = end.version;
      if (end.progressed || end.lived >= (this.#options.healthyMs ?? 10_000)) this.#failures = 0;
      if (end.error !== undefined) throw end.error;
      return this.#nextDelay(0);
    } catch (error) {
      if (this.#signal.aborted) return 0;
      return this.#handleFailure(error);
    }
  }

  #handleFailure(error: unknown): number {
    if (mustList(error)) this.#version = undefined;
    this.#options.onHealth?.(error);
    const delay = this.#nextDelay(retryAfterOf(error), isForbidden(error));
    const fields = { error, retryInMs: Math.round(delay), relist: this.#version === undefined };
    if (isGone(error)) this.#log.info('the watched version is gone, listing again', fields);
    else this.#log.warn('list or watch failed', fields);
    return delay;
  }

  #nextDelay(retryAfterMs: number, forbidden = false): number {
    this.#failures += 1;
    const { backoff = defaultBackoff, forbiddenBackoff = backoff, random } = this.#options;
    // Retry-After says "not before"; the jitter on top keeps many clients from coming back together.
    const own = backoffDelay(forbidden ? forbiddenBackoff : backoff, this.#failures, random.fraction());
    return retryAfterMs > own ? retryAfterMs * (1 + 0.1 * random.fraction()) : own;
  }

  async #list(): Promise<string> {
    const { client, resource, store, pageSize, namespace, labelSelector, fieldSelector } = this.#options;
    this.#requests.lists.inc({ resource: resource.plural });
    let replacement = store.replace(this.#lastSeen);
    let version = '';
    const select = { ...(namespace && { namespace }), ...(labelSelector && { labelSelector }) };
    const pages = listPages<T>(client, resource, {
      ...select,
      ...(fieldSelector && { fieldSelector }),
      limit: pageSize ?? 500,
      signal: this.#signal,
    });
    for await (const page of pages) {
      if (page.restarted) replacement = store.replace(this.#lastSeen);
      if (version === '' || page.restarted) version = page.metadata.resourceVersion;
      replacement.page(page.items, version);
    }
    replacement.finish();
    this.#lastSeen = version;
    this.synced.resolve();
    this.#options.onHealth?.(undefined);
    return version;
  }
}

/** True when watching from the same version again cannot succeed. Outages and refusals of access can pass. */
function mustList(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  if (isGone(error)) return true;
  if (error.details?.causes?.some((cause) => cause.reason === 'ResourceVersionTooLarge')) return true;
  return error.status >= 400 && error.status < 500 && ![401, 403, 404, 408, 429].includes(error.status);
}

function countRequests(metrics: Metrics): { lists: Counter; watches: Counter } {
  const labelNames = ['resource'];
  return {
    lists: metrics.counter({
      name: 'reflector_lists_total',
      help: 'Lists begun by a reflector.',
      labelNames,
    }),
    watches: metrics.counter({
      name: 'reflector_watches_total',
      help: 'Watches begun by a reflector.',
      labelNames,
    }),
  };
}
