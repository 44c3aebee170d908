import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { encodeHeaderValue, nameHeaderOf } from '#mcp/headers.ts';
import { errorCodes, type JsonRpcRequest } from '#mcp/jsonrpc.ts';
import { isEventStream } from '../mcp-http.ts';
import type { Link } from './link.ts';
import { errorLine, readIncoming, statelessRevisionOf } from './message.ts';
import { pump, type StreamPlace } from './pump.ts';
import { headerOf, revisionOf, type SessionKeeper } from './session.ts';
import type { ToolHeaders } from './tool-headers.ts';

export interface ExchangeContext {
  readonly link: Link;
  readonly session: SessionKeeper;
  readonly tools: ToolHeaders;
  readonly clock: Clock;
  readonly maxMessageBytes: number;
  /** To the client. */
  send(line: string): void;
  /** Resolves when the client has room for more. */
  drained(): Promise<void>;
}

export interface Exchange {
  readonly message: JsonRpcRequest;
  readonly body: string;
  /** Aborted: the client wants no answer any more. */
  readonly signal: AbortSignal;
  /** Whether the client told the server, in a session, that it wants none: one may come or not. */
  isCancelled(): boolean;
}

/** The head of what came back, with the whole body where it was read already. */
interface Answer {
  readonly response: IncomingMessage;
  readonly body?: string;
}

type Members = Record<string, unknown>;

const resumePauseMs = 1_000;
const maxResumes = 20;
const listenPauseMs = { first: 500, most: 15_000 };

/** Carries one request to the router and everything that comes back to the client; an answer comes always. */
export async function exchange(context: ExchangeContext, request: Exchange): Promise<void> {
  const { message, signal } = request;
  try {
    if (message.method === 'subscriptions/listen') await listen(context, request);
    else await ask(context, request);
  } catch (error) {
    if (!signal.aborted && !request.isCancelled())
      context.send(errorLine(message.id, errorCodes.server, context.link.explain(error)));
  }
}

async function ask(context: ExchangeContext, request: Exchange): Promise<void> {
  const answer = await post(context, request);
  if (!isEventStream(answer.response)) return answerFromBody(context, request, answer);
  const place: StreamPlace = { lastEventId: undefined, retryMs: undefined };
  if (await follow(context, request, answer.response, place)) return;
  await resume(context, request, place);
}

/** Sends it, in another session when the router does not know this one, with more headers when it misses some. */
async function post(context: ExchangeContext, request: Exchange): Promise<Answer> {
  const { session } = context;
  const used = session.current;
  const response = await postOnce(context, request);
  if (response.statusCode === 404 && isOfSession(request.message) && used?.id !== undefined) {
    response.resume();
    await session.renew(used);
    return { response: await postOnce(context, request) };
  }
  const mayMissHeaders = response.statusCode === 400 && request.message.method === 'tools/call';
  return mayMissHeaders && !isOfSession(request.message)
    ? postWithHeaders(context, request, response)
    : { response };
}

/** A header that mirrors an argument may be missing: the client has not listed the tools through here yet. */
async function postWithHeaders(
  context: ExchangeContext,
  request: Exchange,
  response: IncomingMessage,
): Promise<Answer> {
  const { tools } = context;
  const body = await text(response);
  const { error } = readIncoming(body)?.message ?? {};
  if (isObject(error) && error['code'] === errorCodes.headerMismatch) {
    tools.learn(await listTools(context, request));
    if (Object.keys(tools.headersFor(request.message)).length > 0) {
      return { response: await postOnce(context, request) };
    }
  }
  return { response, body };
}

function isOfSession(message: JsonRpcRequest): boolean {
  return message.method !== 'initialize' && statelessRevisionOf(message) === undefined;
}

function postOnce(
  context: ExchangeContext,
  request: Pick<Exchange, 'message' | 'body' | 'signal'>,
): Promise<IncomingMessage> {
  const { message, body, signal } = request;
  const headers = headersOf(context, request);
  return context.link.send({
    method: 'POST',
    body,
    headers,
    signal,
    repeatable: message.method !== 'tools/call',
  });
}

function headersOf(
  { session, tools }: ExchangeContext,
  { message }: Pick<Exchange, 'message'>,
): Record<string, string> {
  const revision = statelessRevisionOf(message);
  if (revision === undefined) return message.method === 'initialize' ? {} : session.headers();
  const name = nameHeaderOf(message);
  return {
    'mcp-protocol-version': revision,
    'mcp-method': message.method,
    ...(name !== undefined && { 'mcp-name': encodeHeaderValue(name) }),
    ...tools.headersFor(message),
  };
}

/** The first page is enough for most; a tool on a later one is learnt when the client lists it. */
async function listTools(context: ExchangeContext, { message, signal }: Exchange): Promise<unknown> {
  const meta = message.params?.['_meta'];
  const list: JsonRpcRequest = {
    jsonrpc: '2.0',
    id: 'ploinky-list',
    method: 'tools/list',
    params: { _meta: meta },
  };
  const response = await postOnce(context, { message: list, body: JSON.stringify(list), signal });
  return readIncoming(await text(response))?.message['result'];
}

async function answerFromBody(
  context: ExchangeContext,
  request: Exchange,
  { response, body: known }: Answer,
): Promise<void> {
  const body = known ?? (await readBody(response, context.maxMessageBytes));
  const incoming = readIncoming(body);
  const { message } = request;
  if (incoming === undefined || !('result' in incoming.message || 'error' in incoming.message)) {
    const text = `the router answered ${response.statusCode} ${body.slice(0, 200)}`;
    context.send(errorLine(message.id, errorCodes.server, text));
    return;
  }
  conclude(context, request, incoming.message, response);
  // An error that was found before the id was read has none.
  const hasId = incoming.message['id'] === message.id;
  context.send(hasId ? incoming.line : JSON.stringify({ ...incoming.message, id: message.id }));
}

async function readBody(response: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += (chunk as Buffer).length;
    if (size > maxBytes) throw new Error(`an answer is larger than ${maxBytes} bytes`);
    parts.push(chunk as Buffer);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Delivers a stream to the client. True: the answer was in it. A connection that breaks is an end like any other. */
async function follow(
  context: ExchangeContext,
  request: Exchange,
  response: IncomingMessage,
  place: StreamPlace,
  deliver = (line: string, _message: Members) => context.send(line),
): Promise<boolean> {
  const isAnswer = (message: Members) => message['id'] === request.message.id && !('method' in message);
  const pumped = pump(response, {
    place,
    maxMessageBytes: context.maxMessageBytes,
    drained: context.drained,
    deliver(message, line) {
      const answered = isAnswer(message);
      if (answered) conclude(context, request, message, response);
      deliver(line, message);
      return answered;
    },
  });
  return pumped.catch((error: unknown) => {
    if (request.signal.aborted) throw error;
    return false;
  });
}

/** What an answer means for the bridge itself. */
function conclude(
  { session, tools }: ExchangeContext,
  { message, body }: Exchange,
  { result }: Members,
  response: IncomingMessage,
): void {
  if (!isObject(result)) return;
  if (message.method === 'tools/list') tools.learn(result);
  if (message.method === 'initialize') {
    session.begin(body, { id: headerOf(response.headers['mcp-session-id']), revision: revisionOf(result) });
  } else if (isOfSession(message)) session.remember(message, body);
}

/** Comes back for the rest of a stream that ended before its answer (2025-11-25, Last-Event-ID). */
async function resume(context: ExchangeContext, request: Exchange, place: StreamPlace): Promise<void> {
  const { link, session, clock } = context;
  for (let tries = 0; tries < maxResumes && place.lastEventId !== undefined; tries++) {
    await clock.sleep(place.retryMs ?? resumePauseMs, request.signal);
    if (request.isCancelled()) return;
    const headers = { ...session.headers(), accept: 'text/event-stream', 'last-event-id': place.lastEventId };
    const response = await link.send({ method: 'GET', headers, signal: request.signal, repeatable: true });
    if (response.statusCode !== 200 || !isEventStream(response)) {
      response.resume();
      break;
    }
    if (await follow(context, request, response, place)) return;
  }
  throw new Error('the stream ended before the answer came');
}

/**
 * A subscription of 2026-07-28 lives as long as its stream: one that breaks is asked for again, and the client hears
 * of the second acknowledgement nothing.
 */
async function listen(context: ExchangeContext, request: Exchange): Promise<void> {
  const { clock } = context;
  let acknowledged = false;
  const deliver = (line: string, { method }: Members) => {
    const isAck = method === 'notifications/subscriptions/acknowledged';
    if (!(isAck && acknowledged)) context.send(line);
    acknowledged ||= isAck;
  };
  for (let pauseMs = listenPauseMs.first; ; pauseMs = Math.min(pauseMs * 2, listenPauseMs.most)) {
    const begun = clock.monotonic();
    const answer = await post(context, request);
    if (!isEventStream(answer.response)) return answerFromBody(context, request, answer);
    const place: StreamPlace = { lastEventId: undefined, retryMs: undefined };
    if (await follow(context, request, answer.response, place, deliver)) return;
    if (clock.monotonic() - begun > listenPauseMs.most) pauseMs = listenPauseMs.first;
    await clock.sleep(pauseMs, request.signal);
  }
}
