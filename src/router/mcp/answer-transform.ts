import { isObject } from '#kit/json.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import type { Transform } from '../upstream/relay.ts';
import type { AnswerHeaders } from '../upstream/send.ts';
import { type Expose, exposeInMessage } from './expose-uris.ts';
import { renameServerRequest } from './server-requests.ts';

export interface AnswerChange {
  readonly agent: string;
  /** Of the request. */
  readonly method: string;
  /** In the sessions era agents ask on the call's stream, and every question gets an id that leads back. */
  readonly asks: boolean;
  /** Absent: every URI stays. */
  readonly expose?: Expose | undefined;
  /** Of an answer that has to be held as a whole. */
  readonly maxBytes: number;
}

/**
 * Changes what an aggregate has to in an agent's answer as it passes: ids of its requests, and URIs where the
 * surface has others. Event ids are dropped: a stream that broke is resumed at an agent's own endpoint only.
 * Answers in plain JSON pass untouched unless a URI in them changes.
 */
export function changeAnswer(
  change: AnswerChange,
): ((headers: AnswerHeaders) => Transform | undefined) | undefined {
  if (!change.asks && change.expose === undefined) return undefined;
  return (headers) => {
    if (String(headers['content-type'] ?? '').startsWith('text/event-stream')) return changeEvents(change);
    return change.expose === undefined ? undefined : changeJson(change, change.expose);
  };
}

function changeEvents(change: AnswerChange): Transform {
  const decoder = createSseDecoder();
  return {
    push(chunk) {
      const events = decoder.push(chunk);
      if (events.length === 0) return ': \n\n';
      return events.map((event) => (event.data === '' ? ': \n\n' : changeEvent(change, event.data))).join('');
    },
  };
}

/** One event, as it came when nothing in it changes; nothing of what is no JSON. */
export function changeEvent(
  { agent, method, asks, expose }: Omit<AnswerChange, 'maxBytes'>,
  data: string,
): string {
  let message: unknown;
  try {
    message = JSON.parse(data);
  } catch {
    return '';
  }
  if (!isObject(message)) return encode(data);
  const named = asks ? renameServerRequest(agent, message) : message;
  const exposed = expose === undefined ? named : exposeInMessage(named, method, expose);
  return encode(exposed === message ? data : JSON.stringify(exposed));
}

function encode(data: string): string {
  return `event: message\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`;
}

function changeJson({ method, maxBytes }: AnswerChange, expose: Expose): Transform {
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    push(chunk) {
      size += chunk.length;
      if (size > maxBytes) throw new Error(`an answer is longer than ${maxBytes} bytes`);
      chunks.push(chunk);
      return '';
    },
    end() {
      const bytes = Buffer.concat(chunks);
      let message: unknown;
      try {
        message = JSON.parse(bytes.toString('utf8'));
      } catch {
        return bytes;
      }
      if (!isObject(message)) return bytes;
      const exposed = exposeInMessage(message, method, expose);
      return exposed === message ? bytes : JSON.stringify(exposed);
    },
  };
}
