import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSseDecoder } from '#mcp/sse.ts';

export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** How an event stream was read to its end. */
export interface StreamEnd {
  readonly status: number;
  readonly lastEventId: string | undefined;
  readonly retryMs: number | undefined;
  /** It was cut, not ended. */
  readonly broken: boolean;
}

export interface OpenStream {
  /** Rejects when nothing of an answer came. */
  readonly opened: Promise<number>;
  readonly ended: Promise<StreamEnd>;
  close(): void;
}

export interface StreamRequest {
  readonly port: number;
  readonly path: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** One HTTP exchange whose messages are heard as they come, on a connection of its own. */
export function openStream(
  { port, path, method, headers, body }: StreamRequest,
  onMessage: (message: Message) => void,
): OpenStream {
  const outgoing: ClientRequest = request({ host: '127.0.0.1', port, path, method, headers, agent: false });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.once('response', resolve);
    outgoing.once('error', reject);
  });
  outgoing.end(body);
  const ended = answered.then((incoming) => readAll(incoming, onMessage));
  ended.catch(() => undefined);
  outgoing.on('error', () => undefined);
  return {
    opened: answered.then(({ statusCode = 0 }) => statusCode),
    ended,
    close: () => outgoing.destroy(),
  };
}

async function readAll(incoming: IncomingMessage, onMessage: (message: Message) => void): Promise<StreamEnd> {
  const status = incoming.statusCode ?? 0;
  const isEvents = incoming.headers['content-type']?.startsWith('text/event-stream') ?? false;
  const decoder = createSseDecoder(1_048_576);
  let lastEventId: string | undefined;
  let json = '';
  let broken = false;
  try {
    for await (const chunk of incoming as AsyncIterable<Buffer>) {
      if (!isEvents) json += chunk.toString('utf8');
      else {
        for (const event of decoder.push(chunk)) {
          lastEventId = event.id ?? lastEventId;
          if (event.data !== '') onMessage(JSON.parse(event.data) as Message);
        }
      }
    }
  } catch {
    broken = true;
  }
  if (json !== '') onMessage(JSON.parse(json) as Message);
  return { status, lastEventId, retryMs: decoder.retry, broken };
}

/**
 * Sends a request and takes its stream up again by Last-Event-ID, as 2025-11-25 has it, until its answer is there.
 * `onMessage` hears everything else. Rejects when a stream ends without an answer and cannot be taken up.
 */
export async function askToTheEnd(
  first: StreamRequest,
  id: number,
  onMessage: (message: Message) => void,
  onResume: () => void,
): Promise<Message> {
  let answer: Message | undefined;
  const hear = (message: Message) => {
    if (message.id === id && message.method === undefined) answer = message;
    else onMessage(message);
  };
  let lastEventId: string | undefined;
  let stream = openStream(first, hear);
  for (;;) {
    const end = await stream.ended;
    if (answer !== undefined) return answer;
    lastEventId = end.lastEventId ?? lastEventId;
    if (lastEventId === undefined || end.status !== 200) {
      throw new Error(`the stream ended without an answer, and without an id: ${JSON.stringify(end)}`);
    }
    onResume();
    await sleep(end.retryMs ?? 100);
    const { port, path, headers } = first;
    const { 'content-type': _type, ...others } = headers;
    const again = { ...others, accept: 'text/event-stream', 'last-event-id': lastEventId };
    stream = openStream({ port, path, method: 'GET', headers: again }, hear);
  }
}
