import type { KubeObject, Resource } from '#api/meta.ts';
import type { WatchEvent, WatchOptions } from './client-options.ts';
import { TransportError } from './errors.ts';
import {
  type HttpAnswer,
  type HttpContext,
  refuseFailure,
  send,
  startDeadline,
  transportError,
} from './http.ts';
import { createLineDecoder } from './line-decoder.ts';
import { collectionPath, withQuery } from './resource-path.ts';

export interface WatchLimits {
  readonly maxEventBytes: number;
  /** Time until the answer's headers, in milliseconds. The stream itself has no deadline: its reader watches it. */
  readonly connectMs: number;
}

/**
 * Opens a watch. Resolves when the API accepted it, else throws ApiError or TransportError. The iterable yields
 * one batch per read of the socket, which may be empty (a part of an event came: the connection lives), ends
 * when the server ends it cleanly, and throws TransportError or the signal's reason otherwise. Leaving the loop
 * closes the connection. In-band ERROR events are yielded, not thrown.
 */
export async function openWatch<T extends KubeObject>(
  context: HttpContext,
  resource: Resource,
  options: WatchOptions,
  limits: WatchLimits,
): Promise<AsyncIterable<readonly WatchEvent<T>[]>> {
  const path = withQuery(collectionPath(resource, options.namespace), {
    watch: 1,
    allowWatchBookmarks: options.bookmarks ?? true,
    resourceVersion: options.resourceVersion,
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    timeoutSeconds: options.timeoutSeconds,
  });
  // Ends the wait for headers; once they are here only the caller's signal ends the stream.
  const life = new AbortController();
  const connecting = startDeadline(context.clock, limits.connectMs, options.signal);
  const forward = () => life.abort(connecting.signal.reason);
  connecting.signal.addEventListener('abort', forward, { once: true });
  try {
    const answer = await send(context, { method: 'GET', path, stream: true, signal: life.signal });
    await refuseFailure(answer, life.signal);
    const signal = options.signal ?? life.signal;
    return readEvents<T>(answer, limits.maxEventBytes, signal, life);
  } finally {
    connecting.signal.removeEventListener('abort', forward);
    connecting.clear();
  }
}

async function* readEvents<T extends KubeObject>(
  answer: HttpAnswer,
  maxEventBytes: number,
  signal: AbortSignal,
  life: AbortController,
): AsyncGenerator<readonly WatchEvent<T>[]> {
  const decoder = createLineDecoder(maxEventBytes);
  const onAbort = () => life.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const chunk of answer.body) {
      yield decoder.push(chunk).map((line) => parseEvent<T>(line));
    }
  } catch (error) {
    throw transportError(error, signal);
  } finally {
    signal.removeEventListener('abort', onAbort);
    answer.body.destroy();
  }
}

function parseEvent<T extends KubeObject>(line: string): WatchEvent<T> {
  let event: WatchEvent<T>;
  try {
    event = JSON.parse(line);
  } catch (error) {
    throw new TransportError('MalformedResponse', 'an event of the watch is not JSON', { cause: error });
  }
  if (typeof event?.type !== 'string' || typeof event.object !== 'object' || event.object === null) {
    throw new TransportError('MalformedResponse', 'an event of the watch has no type and object');
  }
  return event;
}
