import type { TestContext } from 'node:test';
import { createSseDecoder, type SseEvent } from '#mcp/sse.ts';
import { eventually, type JsonRpcAnswer } from './harness.ts';

/** One answer of an MCP server, read event by event as a client that may come back does. Fixture of tests. */
export interface EventClient {
  readonly status: number;
  readonly headers: Headers;
  /** Events so far, those without data too. */
  readonly events: readonly SseEvent[];
  /** The messages of those with data. */
  messages(): (JsonRpcAnswer & Message)[];
  readonly lastEventId: string | undefined;
  /** Why it ended; undefined while it does not. */
  readonly ended: 'complete' | 'broken' | undefined;
  until(what: string, check: () => boolean): Promise<void>;
  close(): void;
}

interface Message {
  readonly method?: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface Asked {
  readonly method?: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly message?: unknown;
}

/** Resolves when the answer begins. What it asks ends with the test. */
export async function askForEvents(t: TestContext, url: string, asked: Asked): Promise<EventClient> {
  const stop = new AbortController();
  t.after(() => stop.abort());
  const { message, method = message === undefined ? 'GET' : 'POST' } = asked;
  const response = await fetch(url, {
    method,
    signal: stop.signal,
    headers: {
      accept: 'application/json, text/event-stream',
      ...(message !== undefined && { 'content-type': 'application/json' }),
      ...asked.headers,
    },
    ...(message !== undefined && { body: JSON.stringify(message) }),
  });
  const events: SseEvent[] = [];
  let ended: EventClient['ended'];
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  readAll(response, isStream ?? false, events).then(
    () => {
      ended = 'complete';
    },
    () => {
      ended = 'broken';
    },
  );
  return {
    status: response.status,
    headers: response.headers,
    events,
    messages: () => events.filter(({ data }) => data !== '').map(({ data }) => JSON.parse(data)),
    get lastEventId() {
      return events.findLast(({ id }) => id !== undefined)?.id;
    },
    get ended() {
      return ended;
    },
    until: (what, check) => eventually(what, check, 20_000),
    close: () => stop.abort(),
  };
}

async function readAll(response: Response, isStream: boolean, events: SseEvent[]): Promise<void> {
  if (!isStream) {
    events.push({ data: await response.text() });
    return;
  }
  const decoder = createSseDecoder();
  for await (const chunk of response.body ?? []) events.push(...decoder.push(chunk));
}
