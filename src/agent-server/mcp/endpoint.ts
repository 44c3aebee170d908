import type { IncomingMessage, ServerResponse } from 'node:http';
import { tasksExtension } from '#mcp/eras.ts';
import { headerOf, readStandardHeaders } from '#mcp/headers.ts';
import { classifyInbound, type StatelessContext } from '#mcp/inbound.ts';
import {
  errorCodes,
  isRequest,
  type JsonRpcRequest,
  type RequestId,
  RpcError,
  readableId,
} from '#mcp/jsonrpc.ts';
import { parseBody, parseJson, UnreadableBody } from '#mcp/parse.ts';
import { declaresTasks, missingTasks } from '#mcp/tasks/capabilities.ts';
import { endSessionBinding, streamBinding } from '#wire/binding.ts';
import { readBody } from '../http/body.ts';
import { acceptsStream, createExchange } from '../http/exchange.ts';
import { callContext, type Origin } from './call-context.ts';
import { readTaskIds, type WatchResources, type WatchTasks } from './listen.ts';
import { sendError, sendSessionError } from './refuse.ts';
import { refusal, serveRequest } from './serve-request.ts';
import type { McpServices } from './services.ts';
import { ownerOf } from './session.ts';
import { openSessionStream, resumeStream } from './session-stream.ts';
import { resolveSession, serveSessionMessages } from './sessions-era.ts';

/** MCP over Streamable HTTP, both eras: POST, and for sessions GET and DELETE. */
export async function serveMcp(
  request: IncomingMessage,
  response: ServerResponse,
  services: McpServices,
): Promise<void> {
  if (request.method === 'POST') await servePost(request, response, services);
  else if (request.method === 'GET') serveGet(request, response, services);
  else if (request.method === 'DELETE') serveDelete(request, response, services);
  else
    sendError(response, 405, new RpcError(errorCodes.server, 'Method not allowed'), {
      headers: { allow: 'GET, POST, DELETE' },
    });
}

async function servePost(
  request: IncomingMessage,
  response: ServerResponse,
  services: McpServices,
): Promise<void> {
  const { settings } = services;
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? '')) {
    sendError(response, 415, new RpcError(errorCodes.server, 'Content-Type must be application/json'));
    return;
  }
  const text = await readBody(request, settings.maxBodyBytes);
  if (text === 'aborted') return;
  if (text === 'too-large') {
    const message = `The body is larger than ${settings.maxBodyBytes} bytes`;
    sendError(response, 413, new RpcError(errorCodes.server, message), { headers: { connection: 'close' } });
    return;
  }
  try {
    const body = parseBody(text, settings);
    const inbound = classifyInbound(body, readStandardHeaders(request.headers));
    if (inbound.era === 'sessions') await serveSessionMessages(body, request, response, services);
    else if (!isRequest(inbound.message)) response.writeHead(202).end();
    else await serveStateless(inbound.message, inbound.context, request, response, services);
  } catch (error) {
    sendError(response, 400, error, { id: error instanceof UnreadableBody ? null : idIn(text) });
  }
}

async function serveStateless(
  message: JsonRpcRequest,
  stateless: StatelessContext,
  request: IncomingMessage,
  response: ServerResponse,
  services: McpServices,
): Promise<void> {
  const exchange = createExchange(request, response, services);
  try {
    const caller = services.guard.admitMessage(request, message);
    const origin = { request, exchange, caller, session: undefined, stateless };
    if (message.method === 'subscriptions/listen') {
      const watch = watcherOf(message, origin, services);
      await services.subscriptions.open(message, response, watch, taskWatcherOf(message, origin, services));
      return;
    }
    const answer = await serveRequest(message, origin, services);
    exchange.respond(answer.json, answer.status);
  } catch (error) {
    const answer = refusal(message, error, true);
    exchange.respond(answer.json, answer.status);
  }
}

/** Begins what the source must do so that it tells changes of resources; it may take as long as the client waits. */
function watcherOf(
  message: JsonRpcRequest,
  origin: Origin,
  { source }: McpServices,
): WatchResources | undefined {
  const { catalog, watch } = source;
  if (!catalog.subscriptions || watch === undefined) return undefined;
  const gone = new AbortController();
  origin.exchange.onDisconnect(() => gone.abort(new RpcError(errorCodes.internal, 'The client went away')));
  return (uris) => watch(uris, callContext(message, origin, gone.signal));
}

/** As watcherOf, for tasks. Throws RpcError `missingCapability` for a client that asks for them and does not take any. */
function taskWatcherOf(
  message: JsonRpcRequest,
  origin: Origin,
  { source }: McpServices,
): WatchTasks | undefined {
  if (!(tasksExtension in source.catalog.extensions) || readTaskIds(message.params).length === 0)
    return undefined;
  if (!declaresTasks(origin.stateless?.capabilities ?? {})) throw missingTasks();
  const gone = new AbortController();
  origin.exchange.onDisconnect(() => gone.abort(new RpcError(errorCodes.internal, 'The client went away')));
  return async (ids, tell) =>
    (await source.watchTasks?.(ids, callContext(message, origin, gone.signal), tell)) ?? noTasks;
}

const noTasks = { ids: [], end: () => {} };

/** The session's own stream, for what belongs to no request; or the rest of one that its client lost. */
function serveGet(request: IncomingMessage, response: ServerResponse, services: McpServices): void {
  if (!acceptsStream(request)) {
    sendError(response, 406, new RpcError(errorCodes.server, 'Accept must include text/event-stream'));
    return;
  }
  try {
    const caller = services.guard.admit(request, streamBinding, true);
    const session = resolveSession(request, caller, services.sessions);
    const lastEventId = headerOf(request.headers, 'last-event-id');
    const asked = { session, owner: ownerOf(caller, session), response };
    if (lastEventId === undefined) openSessionStream(asked, services);
    else resumeStream(asked, lastEventId, services);
  } catch (error) {
    sendSessionError(response, error);
  }
}

function serveDelete(request: IncomingMessage, response: ServerResponse, services: McpServices): void {
  try {
    const caller = services.guard.admit(request, endSessionBinding, true);
    const session = resolveSession(request, caller, services.sessions);
    services.sessions.end(session);
    response.writeHead(204).end();
  } catch (error) {
    sendSessionError(response, error);
  }
}

/** The id to answer a request with that was refused as a whole. */
function idIn(text: string): RequestId | null {
  try {
    return readableId(parseJson(text));
  } catch {
    return null;
  }
}
