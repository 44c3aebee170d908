import { type Agent, type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { messageOf } from '#kit/errors.ts';
import { createSseDecoder } from '#mcp/sse.ts';
import { defaultSettings } from '../config/settings.ts';
import { AgentServerError } from '../errors.ts';
import { parseUpstream } from './parse-upstream.ts';

export interface HttpTarget {
  readonly agent: Agent;
  /** Connections of what lasts as long as the session: as many as there are sessions. */
  readonly streams: Agent;
  readonly port: number;
  readonly path: string;
  readonly maxMessageBytes: number;
  /** Levels of nesting of one message. Default: as the settings have it. */
  readonly maxDepth?: number;
  /** Interim answers (1xx) to one request. Default: as the settings have it. */
  readonly maxInterim?: number;
  /** A server elsewhere; undefined: the agent's own on 127.0.0.1. */
  readonly remote?: RemoteServer | undefined;
}

/** What requests to a server elsewhere need. */
export interface RemoteServer {
  readonly host: string;
  /**
   * Sends a request with the agent's credentials for it, once more with others when it was refused for want of them.
   * Throws UpstreamUnauthorized, or whatever the credentials could not be had for; a stream that is refused is an
   * answer like any other, because servers need not have one.
   */
  authorized(
    method: Method,
    headers: Record<string, string>,
    signal: AbortSignal,
    send: (headers: Record<string, string>) => Promise<HttpAnswer>,
  ): Promise<HttpAnswer>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** An event stream's last word on how it can be taken up again; undefined when it cannot. */
  readonly resume: Resume | undefined;
}

/** What MCP's revisions with sessions let a server do: end a stream early and be asked for the rest. */
export interface Resume {
  readonly lastEventId: string;
  /** Pause that the server wants before that, where it says one. */
  readonly retryMs: number | undefined;
}

const minRetryMs = 50;
const maxRetryMs = 30_000;

/**
 * One HTTP exchange with an MCP server. Every JSON-RPC message of the answer, plain or as an
 * event stream, goes to `onMessage`, `onHead` is told when the answer begins; resolves when it has ended. `onMessage` returning true ends it
 * at once. Rejects with AgentServerError UpstreamLost or UpstreamInvalid, what RemoteServer throws, or the signal's reason.
 */
export function exchangeHttp(
  target: HttpTarget,
  method: Method,
  headers: Record<string, string>,
  body: string | undefined,
  signal: AbortSignal,
  onMessage: (message: unknown) => boolean,
  onHead?: () => void,
): Promise<HttpAnswer> {
  const send = (sent: Record<string, string>) =>
    exchangeOnce(target, method, sent, body, signal, onMessage, onHead);
  return target.remote === undefined
    ? send(headers)
    : target.remote.authorized(method, headers, signal, send);
}

type Method = 'POST' | 'GET' | 'DELETE';

function exchangeOnce(
  target: HttpTarget,
  method: Method,
  headers: Record<string, string>,
  body: string | undefined,
  signal: AbortSignal,
  onMessage: (message: unknown) => boolean,
  onHead?: () => void,
): Promise<HttpAnswer> {
  const { remote } = target;
  const { promise: aborted, reject: abort } = Promise.withResolvers<never>();
  const onAbort = () => abort(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const exchanged = new Promise<HttpAnswer>((resolve, reject) => {
    const outgoing = httpRequest({
      host: remote?.host ?? '127.0.0.1',
      port: target.port,
      path: target.path,
      agent: target.agent,
      method,
      headers: body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
      signal,
    });
    const fail = (error: unknown) => {
      if (signal.aborted) reject(signal.reason);
      else if (error instanceof AgentServerError) reject(error);
      else reject(new AgentServerError('UpstreamLost', `The agent's MCP server failed: ${messageOf(error)}`));
    };
    outgoing.once('error', fail);
    limitInterim(outgoing, target.maxInterim);
    outgoing.once('response', (incoming) => {
      if (remote !== undefined && isRefusal(incoming)) {
        incoming.resume();
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, resume: undefined });
        return;
      }
      onHead?.();
      const answer = { status: incoming.statusCode ?? 0, headers: incoming.headers };
      readMessages(incoming, target, onMessage).then((resume) => resolve({ ...answer, resume }), fail);
    });
    outgoing.end(body);
  });
  // A request that waits for a connection says nothing when it is aborted.
  return Promise.race([exchanged, aborted]).finally(() => signal.removeEventListener('abort', onAbort));
}

/** What it says of credentials is no answer to a client's message. */
function isRefusal({ statusCode }: IncomingMessage): boolean {
  return statusCode === 401 || statusCode === 403;
}

/** Nobody takes them, so that nothing else would end a stream of them before the call's time is up. */
function limitInterim(outgoing: ClientRequest, most: number = defaultSettings.maxInterimAnswers): void {
  let count = 0;
  outgoing.on('information', () => {
    if (++count <= most) return;
    const message = `The agent's MCP server gave more than ${most} interim answers`;
    outgoing.destroy(new AgentServerError('UpstreamInvalid', message));
  });
}

async function readMessages(
  incoming: IncomingMessage,
  target: HttpTarget,
  onMessage: (message: unknown) => boolean,
): Promise<Resume | undefined> {
  const type = incoming.headers['content-type'] ?? '';
  if (type.startsWith('text/event-stream')) return readEvents(incoming, target, onMessage);
  if (type.startsWith('application/json')) {
    const text = await readAll(incoming, target.maxMessageBytes);
    readJson(text, target, onMessage);
  } else incoming.resume();
  return undefined;
}

async function readEvents(
  incoming: IncomingMessage,
  { maxMessageBytes, maxDepth }: HttpTarget,
  onMessage: (message: unknown) => boolean,
): Promise<Resume | undefined> {
  const decoder = createSseDecoder(maxMessageBytes);
  let lastEventId = '';
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    for (const event of decoder.push(chunk)) {
      lastEventId = event.id ?? lastEventId;
      if (event.data !== '' && onMessage(parseUpstream(event.data, maxDepth))) {
        // The server has answered and only needs to end its stream; the connection serves again if it does.
        incoming.resume();
        return undefined;
      }
    }
  }
  if (lastEventId === '') return undefined;
  const { retry } = decoder;
  const retryMs = retry === undefined ? undefined : Math.max(minRetryMs, Math.min(retry, maxRetryMs));
  return { lastEventId, retryMs };
}

function readJson(text: string, { maxDepth }: HttpTarget, onMessage: (message: unknown) => boolean): void {
  if (text.trim() === '') return;
  const value = parseUpstream(text, maxDepth);
  for (const message of Array.isArray(value) ? value : [value]) onMessage(message);
}

async function readAll(incoming: IncomingMessage, maxBytes: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new AgentServerError(
        'UpstreamInvalid',
        `The agent's MCP server answered more than ${maxBytes} bytes`,
      );
    }
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString('utf8');
}
