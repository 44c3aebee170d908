import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { encodeMessage, sseHeaders, sseKeepAlive } from '#mcp/sse.ts';
import type { KeptStream } from '../streams/kept-stream.ts';

/**
 * The answer to one POST on /mcp. It is plain JSON unless something has to be told before the result, or the
 * result lets itself be waited for: then it becomes an event stream, if the client accepts one.
 */
export interface Exchange {
  /** Sends a message ahead of the answer. False when it cannot be sent: no stream accepted, or gone. */
  notify(message: unknown): boolean;
  /** The answer as JSON text; ends the exchange. `status` counts only while nothing was streamed. */
  respond(json: string, status?: number): void;
  /** Calls back when the client goes away before the answer, and for good if it can take the stream up again. */
  onDisconnect(listener: () => void): void;
  /** Header sent with the answer, whatever its form. Must be set before anything is sent. */
  setHeader(name: string, value: string): void;
  /** If it becomes a stream, then this one; after `streamAfterMs` of silence, where that is said. Not for batches. */
  keep(open: () => KeptStream): void;
  /** Ends the connection of a kept stream; the client comes back for the rest, after `retryMs` where that is said. */
  pause(retryMs?: number): void;
}

export interface ExchangeOptions {
  readonly clock: Clock;
  /** `keepAliveMs`: until a silent answer becomes a stream, and between its keep-alive comments. */
  readonly settings: { readonly keepAliveMs: number };
  /** Until a silent answer that is kept becomes a stream. Default: as any other. */
  readonly streamAfterMs?: number;
}

export function createExchange(
  request: IncomingMessage,
  response: ServerResponse,
  { clock, settings: { keepAliveMs }, streamAfterMs = keepAliveMs }: ExchangeOptions,
): Exchange {
  const firstMs = Math.min(streamAfterMs, keepAliveMs);
  const streams = acceptsStream(request);
  let streaming = false;
  let open: (() => KeptStream) | undefined;
  let kept: KeptStream | undefined;
  let cancelTimer = streams ? clock.after(firstMs, first) : () => {};

  function startStream(): boolean {
    if (streaming) return true;
    if (!streams || response.headersSent || response.destroyed) return false;
    streaming = true;
    kept = open?.();
    if (kept === undefined) response.writeHead(200, sseHeaders);
    else {
      cancelTimer();
      kept.attach(response, 0);
    }
    return true;
  }
  function first(): void {
    if (open !== undefined || firstMs === keepAliveMs) keepAlive();
    else cancelTimer = clock.after(keepAliveMs - firstMs, keepAlive);
  }
  function keepAlive(): void {
    if (!startStream() || kept !== undefined) return;
    response.write(sseKeepAlive);
    cancelTimer = clock.after(keepAliveMs, keepAlive);
  }
  response.once('close', () => cancelTimer());
  return {
    notify(message) {
      if (kept === undefined && (response.writableEnded || !startStream())) return false;
      if (kept !== undefined) return kept.send(JSON.stringify(message));
      response.write(encodeMessage(message));
      return true;
    },
    respond(json, status = 200) {
      cancelTimer();
      if (kept !== undefined) {
        kept.finish(json);
        return;
      }
      if (response.writableEnded || response.destroyed) return;
      if (streaming) response.end(`event: message\ndata: ${json}\n\n`);
      else sendJson(response, status, json);
    },
    onDisconnect(listener) {
      if (kept !== undefined) {
        kept.whenGone(listener);
        return;
      }
      response.once('close', () => {
        if (kept !== undefined) kept.whenGone(listener);
        else if (!response.writableFinished) listener();
      });
    },
    setHeader: (name, value) => void response.setHeader(name, value),
    keep(openStream) {
      if (streams && !streaming) open = openStream;
    },
    pause(retryMs) {
      if (open !== undefined && startStream()) kept?.pause(retryMs);
    },
  };
}

export function sendJson(response: ServerResponse, status: number, json: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(json),
  });
  response.end(json);
}

export function acceptsStream(request: IncomingMessage): boolean {
  return /text\/event-stream|\*\/\*/.test(request.headers.accept ?? '');
}
