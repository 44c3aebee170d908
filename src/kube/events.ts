import type { KubeObject } from '#api/meta.ts';
import { eventResource } from '#api/resources.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from './client.ts';
import { ApiError, isNotFound, retryAfterOf } from './errors.ts';
import { createEventCorrelator, type Occurrence } from './event-correlator.ts';
import { type Metrics, noMetrics } from './metrics.ts';
import { formatTime } from './micro-time.ts';

/** Tells operators what happened, as core/v1 Events. */
export interface EventRecorder {
  /**
   * Returns at once and never throws; the write follows. `reason` is an UpperCamelCase word, `message` a sentence
   * of at most 1,024 characters (cut beyond). Repeats raise the count of one Event; too many for one object are
   * dropped, as is everything when the API is away for long.
   */
  event(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void;
  /** Writes what waits, for at most `timeoutMs` (default 2,000), and ends. */
  stop(options?: { readonly timeoutMs?: number }): Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: Client;
  /** Who reports: `ploinky-controller`. */
  readonly component: string;
  /** Which process of it: a pod's or host's name. */
  readonly instance: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Events that may wait to be written. Default 1,000. */
  readonly maxPending?: number;
}

interface EventObject extends KubeObject {
  count?: number;
  lastTimestamp?: string;
  message?: string;
  [field: string]: unknown;
}

/** Attempts at one Event, with these pauses between in milliseconds. */
const retryPauses = [500, 2_000, 5_000];

export function createEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new Recorder(options);
}

class Recorder implements EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #correlator;
  readonly #pending = new Map<string, Occurrence>();
  readonly #dropped;
  readonly #aborted = new AbortController();
  #writing: Promise<void> | undefined;
  #stopped = false;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#correlator = createEventCorrelator(options.clock, options.random);
    this.#dropped = (options.metrics ?? noMetrics).counter({
      name: 'ploinky_events_dropped_total',
      help: 'Events that were not written, by reason.',
      labelNames: ['reason'],
    });
  }

  event(about: KubeObject, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (this.#stopped) return;
    const occurrence = this.#correlator.correlate({
      about: identityOf(about),
      type,
      reason,
      message: message.slice(0, 1024),
    });
    if (occurrence === undefined) {
      this.#dropped.inc({ reason: 'rate' });
      return;
    }
    // An Event that still waits is written once, with its latest count.
    const isNew = !this.#pending.has(occurrence.name);
    if (isNew && this.#pending.size >= (this.#options.maxPending ?? 1_000)) {
      this.#dropped.inc({ reason: 'full' });
      return;
    }
    this.#pending.set(occurrence.name, occurrence);
    this.#writing ??= this.#writeAll();
  }

  async stop({ timeoutMs = 2_000 }: { readonly timeoutMs?: number } = {}): Promise<void> {
    this.#stopped = true;
    const cancel = this.#options.clock.after(timeoutMs, () => {
      this.#aborted.abort(new Error('the event recorder was stopped'));
    });
    await this.#writing;
    cancel();
  }

  async #writeAll(): Promise<void> {
    for (let next = this.#takeFirst(); next !== undefined; next = this.#takeFirst()) await this.#write(next);
    this.#writing = undefined;
  }

  #takeFirst(): Occurrence | undefined {
    const [first] = this.#pending.values();
    if (first !== undefined) this.#pending.delete(first.name);
    return first;
  }

  async #write(occurrence: Occurrence): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#aborted;
    for (const pause of [...retryPauses, undefined]) {
      try {
        await this.#send(occurrence, signal);
        return;
      } catch (error) {
        if (pause === undefined || signal.aborted || isRefused(error)) {
          this.#dropped.inc({ reason: 'failed' });
          log.warn('an event was not written', { error, reason: occurrence.reason });
          return;
        }
        await clock.sleep(Math.max(pause, retryAfterOf(error)), signal).catch(() => undefined);
      }
    }
  }

  async #send(occurrence: Occurrence, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    if (occurrence.count > 1) {
      const { count, message } = occurrence;
      const body = { count, message, lastTimestamp: formatTime(occurrence.lastAt) };
      try {
        await client.patch(eventResource, occurrence, { type: 'merge', body }, { signal });
        return;
      } catch (error) {
        // It expired (an hour by default) or its creation was lost.
        if (!isNotFound(error)) throw error;
      }
    }
    await client.create<EventObject>(eventResource, this.#render(occurrence), { signal });
  }

  #render(occurrence: Occurrence): EventObject {
    const { component, instance } = this.#options;
    const { apiVersion, kind, metadata } = occurrence.about;
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: occurrence.name, namespace: occurrence.namespace },
      involvedObject: { apiVersion, kind, ...metadata },
      type: occurrence.type,
      reason: occurrence.reason,
      message: occurrence.message,
      count: occurrence.count,
      firstTimestamp: formatTime(occurrence.firstAt),
      lastTimestamp: formatTime(occurrence.lastAt),
      source: { component, host: instance },
      reportingComponent: component,
      reportingInstance: instance,
    };
  }
}

/** What an Event says of its object; the rest of it must not be kept alive by what is remembered here. */
function identityOf({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace && { namespace }),
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
    },
  };
}

/** True when the API will not take this Event however often it is sent. */
function isRefused(error: unknown): boolean {
  return error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
}
