import { isObject } from '#kit/json.ts';
import { isRequest, type RequestId } from '#mcp/jsonrpc.ts';
import { createSseDecoder, encodeEvent, type SseEvent } from '#mcp/sse.ts';
import { type RenameTask, renameInMessage } from '#mcp/tasks/rename.ts';
import { RouterError } from '../errors.ts';
import type { Transform } from '../upstream/relay.ts';
import type { AnswerHeaders } from '../upstream/send.ts';
import { toFailure } from './answer.ts';
import { exposeEventId } from './event-ids.ts';
import { type Expose, exposeInMessage } from './expose-uris.ts';
import { parseAgentJson, type ReadOptions } from './read-answer.ts';
import { type Asked, renameServerRequest } from './server-requests.ts';

export interface AnswerChange extends ReadOptions {
  /** Of the request, as far as it is known. */
  readonly id: RequestId | null;
  readonly method: string;
  /**
   * In the sessions era agents ask this client on the call's stream, and every question gets an id that leads back.
   * Undefined: no agent may ask.
   */
  readonly asks: Asked | undefined;
  /** Absent: every URI stays. */
  readonly expose?: Expose | undefined;
  /** Absent: it is about no task. */
  readonly renameTask?: RenameTask | undefined;
  /** Of an answer that has to be held as a whole. */
  readonly maxBytes: number;
  /** Of one event. */
  readonly maxEventChars: number;
}

/**
 * Changes what an aggregate has to in an agent's answer as it passes: ids of its requests and tasks, and URIs where
 * the surface has others; ids of events say whose they are, so that any router can ask for the rest of a stream.
 * Answers in plain JSON pass untouched unless a URI or a task in them changes.
 */
export function changeAnswer(
  change: AnswerChange,
): ((headers: AnswerHeaders) => Transform | undefined) | undefined {
  const { asks, expose, renameTask } = change;
  if (asks === undefined && expose === undefined && renameTask === undefined) return undefined;
  return (headers) => {
    if (isEventStream(headers)) return changeEvents(change);
    return expose === undefined && renameTask === undefined ? undefined : changeJson(change);
  };
}

/** As clients read it, whatever the case. */
function isEventStream(headers: AnswerHeaders): boolean {
  return /^\s*text\/event-stream\b/i.test(String(headers['content-type'] ?? ''));
}

function changeEvents(change: AnswerChange): Transform {
  const decoder = createSseDecoder(change.maxEventChars);
  return {
    refuse: (error) => encode(refusalOf(change, error)),
    push(chunk) {
      const events = decoder.push(chunk);
      if (events.length === 0) return ': \n\n';
      return events.map((event) => passEvent(change, event)).join('');
    },
  };
}

/** One event with its id, and without data when it had none. */
function passEvent(change: AnswerChange, { data, id: own, retry }: SseEvent): string {
  const id =
    own === undefined || change.asks === undefined ? undefined : exposeEventId({ ...change, id: own });
  if (data !== '') return changeEvent(change, data, id);
  if (id === undefined) return ': \n\n';
  return encodeEvent({ id, data: '', ...(retry !== undefined && { retry }) });
}

/**
 * One event, as it came when nothing in it changes; nothing of what is no JSON. Throws RouterError for one that nests
 * too deep.
 */
export function changeEvent(
  change: Omit<AnswerChange, 'id' | 'maxBytes' | 'maxEventChars'>,
  data: string,
  id?: string,
): string {
  const message = parseAgentJson(data, change);
  if (message === undefined) return '';
  if (!isObject(message)) return encode(data, id);
  const named = change.asks === undefined ? message : renameServerRequest(change.asks, change.agent, message);
  const changed = asClientsSee(change, named);
  return encode(changed === message ? data : JSON.stringify(changed), id);
}

/** A message with the URIs and tasks as clients see them; the same object when nothing in it changes. */
function asClientsSee<Message extends Record<string, unknown>>(
  { method, expose, renameTask }: Pick<AnswerChange, 'method' | 'expose' | 'renameTask'>,
  message: Message,
): Message | Record<string, unknown> {
  const renamed = renameTask === undefined ? message : renameInMessage(message, method, renameTask);
  return expose === undefined ? renamed : exposeInMessage(renamed, method, expose);
}

function encode(data: string, id?: string): string {
  const named = id === undefined ? '' : `id: ${id}\n`;
  return `event: message\n${named}data: ${data.replaceAll('\n', '\ndata: ')}\n\n`;
}

/** What the client gets in the place of an answer that cannot be looked into. */
function refusalOf({ id, agent }: AnswerChange, error: unknown): string {
  const told = error instanceof RouterError ? error : badAnswer(agent, 'cannot be read');
  return JSON.stringify(toFailure(id, told));
}

function badAnswer(agent: string, problem: string): RouterError {
  return new RouterError('AgentAnswer', `The answer of agent '${agent}' ${problem}.`, { agents: [agent] });
}

function changeJson(change: AnswerChange): Transform {
  const { agent, maxBytes } = change;
  const chunks: Buffer[] = [];
  let size = 0;
  return {
    refuse: (error) => refusalOf(change, error),
    push(chunk) {
      size += chunk.length;
      if (size > maxBytes) throw badAnswer(agent, `is longer than ${maxBytes} bytes`);
      chunks.push(chunk);
      return '';
    },
    end() {
      const bytes = Buffer.concat(chunks);
      // Of what a client that takes tasks is answered, little is one.
      if (change.expose === undefined && !bytes.includes('"taskId"')) return bytes;
      const message = parseAgentJson(bytes.toString('utf8'), change);
      // Some clients would read what is none to this parser, and URIs in it would pass as they are.
      if (!isObject(message)) throw badAnswer(agent, 'is no JSON-RPC message');
      if (isRequest(message)) throw badAnswer(agent, 'is a request');
      const changed = asClientsSee(change, message);
      return changed === message ? bytes : JSON.stringify(changed);
    },
  };
}
