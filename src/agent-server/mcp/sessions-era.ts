import type { IncomingMessage, ServerResponse } from 'node:http';
import { isObject } from '#kit/json.ts';
import { assumedSessionRevision, negotiateSessionRevision, sessionRevisions } from '#mcp/eras.ts';
import { headerOf } from '#mcp/headers.ts';
import {
  errorCodes,
  isRequest,
  isResponse,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  RpcError,
  resultOf,
} from '#mcp/jsonrpc.ts';
import type { ParsedBody } from '#mcp/parse.ts';
import { firstTasksRevision } from '#mcp/tasks/capabilities.ts';
import { createExchange, type Exchange } from '../http/exchange.ts';
import type { Caller } from './guard.ts';
import { serverInfo } from './listing.ts';
import { takeAnswer } from './questions.ts';
import { sendSessionError } from './refuse.ts';
import { type Answer, refusal, serveRequest } from './serve-request.ts';
import type { McpServices } from './services.ts';
import { firstPolledRevision, type Session } from './session.ts';
import type { Sessions } from './sessions.ts';

/** One message, or a batch of them (revisions up to 2025-03-26), of a client with sessions. */
export async function serveSessionMessages(
  body: ParsedBody,
  request: IncomingMessage,
  response: ServerResponse,
  services: McpServices,
): Promise<void> {
  const revision = checkRevision(request);
  const { clock, settings } = services;
  const streamAfterMs = revision >= firstPolledRevision ? settings.streamAfterMs : settings.keepAliveMs;
  const exchange = createExchange(request, response, { clock, settings, streamAfterMs });
  const [only] = body.messages;
  if (!body.batch && only !== undefined && isRequest(only)) {
    const answer = await serveOne(only, request, response, exchange, services);
    if (answer !== undefined) exchange.respond(answer.json, answer.status);
    return;
  }
  const answers: string[] = [];
  for (const message of body.messages) {
    const answer = await serveAny(message, request, response, exchange, services);
    if (response.writableEnded) return;
    if (answer !== undefined) answers.push(answer.json);
  }
  if (answers.length > 0) exchange.respond(`[${answers.join(',')}]`);
  else if (!response.headersSent) response.writeHead(202).end();
}

async function serveAny(
  message: JsonRpcMessage,
  request: IncomingMessage,
  response: ServerResponse,
  exchange: Exchange,
  services: McpServices,
): Promise<Answer | undefined> {
  if (isRequest(message)) return serveOne(message, request, response, exchange, services, true);
  try {
    const caller = services.guard.admitMessage(request, message);
    const session = resolveSession(request, caller, services.sessions);
    if (isResponse(message)) takeAnswer(session, message);
    else takeNotification(message, session);
  } catch (error) {
    sendSessionError(response, error);
  }
  return undefined;
}

/** Undefined when the HTTP answer was given already, because no session could be found. */
async function serveOne(
  message: JsonRpcRequest,
  request: IncomingMessage,
  response: ServerResponse,
  exchange: Exchange,
  services: McpServices,
  batch = false,
): Promise<Answer | undefined> {
  let caller: Caller;
  try {
    caller = services.guard.admitMessage(request, message);
  } catch (error) {
    return refusal(message, error, false);
  }
  if (message.method === 'initialize') return initialize(message, caller, exchange, services);
  let session: Session | undefined;
  try {
    session = isSessionless(caller) ? undefined : resolveSession(request, caller, services.sessions);
  } catch (error) {
    sendSessionError(response, error);
    return undefined;
  }
  return serveRequest(message, { request, exchange, caller, session, stateless: undefined, batch }, services);
}

/** A router's request of a client without a session, such as one agent calling another. */
function isSessionless({ claims }: Caller): boolean {
  return claims !== undefined && claims.mcp?.session === undefined;
}

function initialize(
  message: JsonRpcRequest,
  caller: Caller,
  exchange: Exchange,
  { sessions, listing, source }: McpServices,
): Answer {
  const params = message.params ?? {};
  const revision = negotiateSessionRevision(params['protocolVersion']);
  const named = caller.claims?.mcp?.session;
  const session = named === undefined ? sessions.mint(revision) : sessions.open(named, revision);
  if (session !== undefined) {
    session.revision = revision;
    if (isObject(params['capabilities'])) session.capabilities = params['capabilities'];
    if (named === undefined) exchange.setHeader('mcp-session-id', session.id);
  }
  const { instructions, tasks } = source.catalog;
  const servesTasks = tasks !== undefined && revision >= firstTasksRevision;
  const result = {
    protocolVersion: revision,
    capabilities: { ...listing().capabilities, ...(servesTasks && { tasks }) },
    serverInfo,
    ...(instructions !== undefined && { instructions }),
  };
  return { json: JSON.stringify(resultOf(message.id, result)), status: 200 };
}

/**
 * The session of a request: the router's token names it, or the header that `initialize` answered with.
 * Throws RpcError `sessionNotFound` for one that ended, `server` when none is named.
 */
export function resolveSession(request: IncomingMessage, { claims }: Caller, sessions: Sessions): Session {
  const named = claims?.mcp;
  if (named?.session !== undefined) {
    const session = sessions.open(named.session, named.revision);
    if (session === undefined) throw new RpcError(errorCodes.sessionNotFound, 'Session not found');
    session.revision = named.revision;
    if (named.capabilities !== undefined) session.capabilities = named.capabilities;
    if (named.client !== undefined) session.client = named.client;
    return session;
  }
  const id = headerOf(request.headers, 'mcp-session-id');
  if (id === undefined) throw new RpcError(errorCodes.server, 'Missing session; send initialize first');
  const session = sessions.find(id);
  if (session === undefined) throw new RpcError(errorCodes.sessionNotFound, 'Session not found');
  return session;
}

function takeNotification(message: JsonRpcNotification, session: Session): void {
  if (message.method !== 'notifications/cancelled') return;
  const id = message.params?.['requestId'];
  if (typeof id !== 'string' && typeof id !== 'number') return;
  session.calls?.get(id)?.abort(new RpcError(errorCodes.internal, 'Request cancelled'));
}

function checkRevision(request: IncomingMessage): string {
  const revision = headerOf(request.headers, 'mcp-protocol-version') ?? assumedSessionRevision;
  if (sessionRevisions.includes(revision)) return revision;
  const supported = sessionRevisions.join(', ');
  throw new RpcError(
    errorCodes.server,
    `Bad Request: Unsupported protocol version ${revision} (supported: ${supported})`,
  );
}
