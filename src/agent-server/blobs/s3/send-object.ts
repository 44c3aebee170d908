import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { partsOf } from './body.ts';

/**
 * Writes what comes from the store as the body, no faster than the client takes it. Ends it when all `bytes` have come;
 * breaks the connection when fewer did. Never rejects.
 */
export async function sendObject(
  incoming: IncomingMessage,
  bytes: number,
  response: ServerResponse,
  { clock, idleMs }: { readonly clock: Clock; readonly idleMs: number },
): Promise<void> {
  let left = bytes;
  const gone = () => incoming.destroy();
  response.once('close', gone);
  // It may have gone while a connection was waited for.
  if (response.destroyed) gone();
  try {
    for await (const part of partsOf(incoming, clock, idleMs)) {
      left -= part.length;
      if (!response.write(part)) await drained(response);
    }
    if (left === 0) response.end();
    else response.destroy();
  } catch {
    response.destroy();
  } finally {
    response.off('close', gone);
  }
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const next = () => {
      response.off('drain', next).off('close', next);
      resolve();
    };
    response.once('drain', next).once('close', next);
    if (response.destroyed) next();
  });
}
