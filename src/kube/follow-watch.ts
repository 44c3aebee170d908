import type { KubeObject } from '#api/meta.ts';
import type { Clock } from '#kit/clock.ts';
import type { WatchEvent } from './client-options.ts';
import { errorFromStatus, TransportError } from './errors.ts';
import type { ReflectorOptions } from './reflector-options.ts';
import { newerVersion } from './resource-version.ts';

export interface WatchEnd {
  /** The newest version seen: where to go on. */
  readonly version: string;
  /** True when `version` moved. */
  readonly progressed: boolean;
  /** Milliseconds from the server's acceptance to the end; 0 when it was not accepted. */
  readonly lived: number;
  /** Undefined when the server ended the watch cleanly. */
  readonly error: unknown;
}

/** Runs one watch from `from` to its end, whatever that is. Never throws. */
export async function followWatch<T extends KubeObject>(
  options: ReflectorOptions<T>,
  from: string,
  signal: AbortSignal,
): Promise<WatchEnd> {
  const { client, resource, clock } = options;
  const idle = startIdleLimit(clock, options.idleLimitMs ?? 150_000, signal);
  let version = from;
  let acceptedAt: number | undefined;
  let error: unknown;
  try {
    const stream = await client.watch<T>(resource, watchOptions(options, from, idle.signal));
    acceptedAt = clock.monotonic();
    options.onHealth?.(undefined);
    for await (const batch of stream) {
      idle.touch();
      for (const event of batch) version = applyEvent(options, version, event);
    }
  } catch (thrown) {
    error = thrown;
  } finally {
    idle.clear();
  }
  const lived = acceptedAt === undefined ? 0 : clock.monotonic() - acceptedAt;
  return { version, progressed: version !== from, lived, error };
}

function watchOptions<T extends KubeObject>(options: ReflectorOptions<T>, from: string, signal: AbortSignal) {
  const { namespace, labelSelector, fieldSelector, random } = options;
  const timeoutMs = (options.watchTimeoutMs ?? 300_000) * (1 + random.fraction());
  return {
    ...(namespace && { namespace }),
    ...(labelSelector && { labelSelector }),
    ...(fieldSelector && { fieldSelector }),
    resourceVersion: from,
    timeoutSeconds: Math.ceil(timeoutMs / 1000),
    signal,
  };
}

/** Gives the event to the store and returns the version to resume from. Throws the ApiError of an ERROR event. */
function applyEvent<T extends KubeObject>(
  { store, log }: ReflectorOptions<T>,
  version: string,
  event: WatchEvent<T>,
): string {
  switch (event.type) {
    case 'ADDED':
    case 'MODIFIED':
      store.upsert(event.object);
      break;
    case 'DELETED':
      store.remove(event.object);
      break;
    case 'BOOKMARK':
      break;
    case 'ERROR':
      throw errorFromStatus(500, event.object);
    default:
      log.warn('an unknown watch event was ignored', { type: (event as { type: string }).type });
      return version;
  }
  const next = event.object.metadata.resourceVersion;
  return next === undefined ? version : newerVersion(version, next);
}

/** A signal that aborts when `touch` was not called for `limitMs`, or with `outer`. */
function startIdleLimit(clock: Clock, limitMs: number, outer: AbortSignal) {
  const controller = new AbortController();
  const forward = () => controller.abort(outer.reason);
  if (outer.aborted) forward();
  outer.addEventListener('abort', forward, { once: true });
  let touched = clock.monotonic();
  // One timer that arms itself again for the rest, not one per event.
  let cancel = clock.after(limitMs, check);

  function check(): void {
    const rest = limitMs - (clock.monotonic() - touched);
    if (rest > 0) cancel = clock.after(rest, check);
    else controller.abort(new TransportError('ConnectionLost', `nothing came for ${limitMs} ms`));
  }

  return {
    signal: controller.signal,
    touch: () => {
      touched = clock.monotonic();
    },
    clear: () => {
      cancel();
      outer.removeEventListener('abort', forward);
    },
  };
}
