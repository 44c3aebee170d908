import {
  type HttpAnswer,
  type HttpCall,
  type HttpContext,
  refuseFailure,
  send,
  startDeadline,
  transportError,
} from './http.ts';

/**
 * An answer that comes piece by piece and may never end. Resolves when the API accepted the request, else throws
 * ApiError or TransportError. The iterable ends when the server ends it cleanly, and throws TransportError or the
 * signal's reason otherwise. Leaving the loop closes the connection.
 */
export async function openStream(
  context: HttpContext,
  request: Omit<HttpCall, 'signal' | 'stream'>,
  limits: { readonly connectMs: number },
  outer: AbortSignal | undefined,
): Promise<AsyncIterable<Buffer>> {
  // Ends the wait for headers; once they are here only the caller's signal ends the stream.
  const life = new AbortController();
  const connecting = startDeadline(context.clock, limits.connectMs, outer);
  const forward = () => life.abort(connecting.signal.reason);
  connecting.signal.addEventListener('abort', forward, { once: true });
  try {
    const answer = await send(context, { ...request, stream: true, signal: life.signal });
    await refuseFailure(answer, life.signal);
    return readPieces(answer, outer ?? life.signal, life);
  } finally {
    connecting.signal.removeEventListener('abort', forward);
    connecting.clear();
  }
}

async function* readPieces(
  answer: HttpAnswer,
  signal: AbortSignal,
  life: AbortController,
): AsyncGenerator<Buffer> {
  const onAbort = () => life.abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const chunk of answer.body) yield chunk;
  } catch (error) {
    throw transportError(error, signal);
  } finally {
    signal.removeEventListener('abort', onAbort);
    answer.body.destroy();
  }
}
