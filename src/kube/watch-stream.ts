import type { KubeObject, Resource } from '#api/meta.ts';
import { messageOf } from '#kit/errors.ts';
import { createLineDecoder } from '#kit/line-decoder.ts';
import type { WatchEvent, WatchOptions } from './client-options.ts';
import { TransportError } from './errors.ts';
import type { HttpContext } from './http.ts';
import { collectionPath, withQuery } from './resource-path.ts';
import { openStream } from './stream.ts';

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
  const pieces = await openStream(context, { method: 'GET', path }, limits, options.signal);
  return readEvents<T>(pieces, limits.maxEventBytes);
}

async function* readEvents<T extends KubeObject>(
  pieces: AsyncIterable<Buffer>,
  maxEventBytes: number,
): AsyncGenerator<readonly WatchEvent<T>[]> {
  const decoder = createLineDecoder(maxEventBytes);
  const linesOf = (chunk: Buffer) => {
    try {
      return decoder.push(chunk);
    } catch (error) {
      throw new TransportError('ResponseTooLarge', `an event of the watch: ${messageOf(error)}`);
    }
  };
  for await (const chunk of pieces) yield linesOf(chunk).map((line) => parseEvent<T>(line));
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
