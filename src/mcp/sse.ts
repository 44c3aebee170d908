/** One event of a `text/event-stream` (WHATWG HTML, server-sent events). */
export interface SseEvent {
  /** Lines joined by \n. */
  readonly data: string;
  /** Default `message`. */
  readonly event?: string;
  readonly id?: string;
  /** Milliseconds. */
  readonly retry?: number;
}

/** Headers of every event stream; the last keeps proxies from holding events back. */
export const sseHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** A JSON-RPC message as one event. JSON has no raw line breaks, so one data line is enough. */
export function encodeMessage(message: unknown, id?: string): string {
  return id === undefined
    ? `event: message\ndata: ${JSON.stringify(message)}\n\n`
    : `event: message\nid: ${id}\ndata: ${JSON.stringify(message)}\n\n`;
}

export function encodeEvent(event: SseEvent): string {
  let text = event.event === undefined ? '' : `event: ${event.event}\n`;
  if (event.id !== undefined) text += `id: ${event.id}\n`;
  if (event.retry !== undefined) text += `retry: ${event.retry}\n`;
  for (const line of event.data.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  return `${text}\n`;
}

/** A comment: keeps a silent connection open, and clients skip it. */
export const sseKeepAlive = ': keepalive\n\n';

export interface SseDecoder {
  /** Takes the next piece of the stream, cut anywhere; returns the events that it completed. */
  push(chunk: Uint8Array | string): SseEvent[];
  /** The last reconnection time that the stream named, in milliseconds: it counts at once, without any event too. */
  readonly retry: number | undefined;
}

/**
 * Incremental decoder. Throws when one event grows over `maxEventBytes` (default 16 MiB, in UTF-16 units):
 * the peer is then not to be trusted with more memory. An event that the end of the stream cuts is dropped.
 */
export function createSseDecoder(maxEventBytes = 16 * 1024 * 1024): SseDecoder {
  const utf8 = new TextDecoder('utf-8');
  const lines = createLineSplitter();
  let retry: number | undefined;
  let fields: EventFields = emptyFields();
  return {
    get retry() {
      return retry;
    },
    push(chunk) {
      const events: SseEvent[] = [];
      const text = typeof chunk === 'string' ? chunk : utf8.decode(chunk, { stream: true });
      for (const line of lines.push(text)) {
        if (line !== '') {
          readField(fields, line);
          retry = fields.retry ?? retry;
        } else {
          if (fields.data !== undefined) events.push(toEvent(fields));
          fields = emptyFields();
        }
      }
      if (lines.waiting + (fields.data?.length ?? 0) > maxEventBytes) {
        throw new Error(`A server-sent event is larger than ${maxEventBytes} bytes`);
      }
      return events;
    },
  };
}

interface EventFields {
  data: string | undefined;
  event: string | undefined;
  id: string | undefined;
  retry: number | undefined;
}

function emptyFields(): EventFields {
  return { data: undefined, event: undefined, id: undefined, retry: undefined };
}

function toEvent(fields: EventFields): SseEvent {
  return {
    data: fields.data ?? '',
    ...(fields.event !== undefined && { event: fields.event }),
    ...(fields.id !== undefined && { id: fields.id }),
    ...(fields.retry !== undefined && { retry: fields.retry }),
  };
}

/**
 * Complete lines by any of the three line ends. Looks at each character once, however long a line grows. A final \r
 * waits: its \n may come with the next piece.
 */
function createLineSplitter() {
  let rest = '';
  let held = '';
  return {
    /** Characters of the line that is not complete. */
    get waiting(): number {
      return rest.length;
    },
    push(piece: string): string[] {
      const text = held + piece;
      held = text.endsWith('\r') ? '\r' : '';
      const usable = text.slice(0, text.length - held.length);
      const lines = usable.split(usable.includes('\r') ? /\r\n|\r|\n/ : '\n');
      lines[0] = rest + (lines[0] ?? '');
      rest = lines.pop() ?? '';
      return lines;
    },
  };
}

function readField(fields: EventFields, line: string): void {
  const colon = line.indexOf(':');
  if (colon === 0) return;
  const name = colon === -1 ? line : line.slice(0, colon);
  const raw = colon === -1 ? '' : line.slice(colon + 1);
  const value = raw.startsWith(' ') ? raw.slice(1) : raw;
  if (name === 'data') fields.data = fields.data === undefined ? value : `${fields.data}\n${value}`;
  else if (name === 'event') fields.event = value;
  else if (name === 'id' && !value.includes('\0')) fields.id = value;
  else if (name === 'retry' && /^\d+$/.test(value)) fields.retry = Number(value);
}
