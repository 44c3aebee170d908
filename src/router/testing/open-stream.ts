import type { TestContext } from 'node:test';
import { createSseDecoder } from '#mcp/sse.ts';

export interface OpenedStream {
  readonly answer: Response;
  /** The next message of the stream; undefined at its end. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
  next(): Promise<any>;
  close(): void;
}

/** A request whose answer is an event stream; it ends with the test. */
export async function openStream(
  t: TestContext,
  url: string,
  init: { method?: string; headers?: Record<string, string>; body?: unknown } = {},
): Promise<OpenedStream> {
  const abort = new AbortController();
  t.after(() => abort.abort());
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    ...init.headers,
  };
  const body = init.body === undefined ? {} : { body: JSON.stringify(init.body) };
  const answer = await fetch(url, { method: init.method ?? 'POST', headers, signal: abort.signal, ...body });
  const reader = answer.body?.getReader();
  const decoder = createSseDecoder();
  const waiting: unknown[] = [];
  return {
    answer,
    close: () => abort.abort(),
    async next() {
      while (waiting.length === 0) {
        const piece = await reader?.read();
        if (piece === undefined || piece.done) return undefined;
        for (const event of decoder.push(piece.value))
          if (event.data !== '') waiting.push(JSON.parse(event.data));
      }
      return waiting.shift();
    },
  };
}
