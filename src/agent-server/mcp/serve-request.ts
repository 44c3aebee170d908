import { assumedSessionRevision, taskMethods, tasksExtension } from '#mcp/eras.ts';
import { checkParamHeaders } from '#mcp/headers.ts';
import { errorCodes, failureFrom, type JsonRpcRequest, type Params, RpcError } from '#mcp/jsonrpc.ts';
import { wrapResult } from '#mcp/results.ts';
import { firstTasksRevision, isSessionTaskMethod, type SessionTasks } from '#mcp/tasks/capabilities.ts';
import { isLogLevel } from '#mcp/types.ts';
import { InvocationRejected } from '#wire/errors.ts';
import type { Catalog } from '../source.ts';
import { callContext, type Origin } from './call-context.ts';
import { serverInfo } from './listing.ts';
import type { McpServices } from './services.ts';
import { callsOf, ownerOf, primes } from './session.ts';

/** The answer to one request: JSON text of the response and the HTTP status if it is sent alone. */
export interface Answer {
  readonly json: string;
  readonly status: number;
}

/** Methods that the source serves. */
const sourceMethods: ReadonlySet<string> = new Set([
  'tools/call',
  'resources/read',
  'prompts/get',
  'completion/complete',
]);

function isForSource(method: string, origin: Origin, { source }: McpServices): boolean {
  if (sourceMethods.has(method)) return true;
  const { catalog } = source;
  if (origin.stateless !== undefined) return taskMethods.has(method) && tasksExtension in catalog.extensions;
  const { list, cancel } = tasksServedTo(origin, catalog) ?? {};
  if (method === 'tasks/list') return list !== undefined;
  if (method === 'tasks/cancel') return cancel !== undefined;
  return isSessionTaskMethod(method) && tasksServedTo(origin, catalog) !== undefined;
}

/** What the source can do about tasks of 2025-11-25, which clients of other revisions do not know. */
function tasksServedTo({ stateless, session, caller }: Origin, { tasks }: Catalog): SessionTasks | undefined {
  const revision = session?.revision ?? caller.claims?.mcp?.revision ?? assumedSessionRevision;
  return stateless === undefined && revision >= firstTasksRevision ? tasks : undefined;
}

/** Serves every method but initialize and subscriptions/listen. Never rejects. */
export async function serveRequest(
  message: JsonRpcRequest,
  origin: Origin,
  services: McpServices,
): Promise<Answer> {
  const era = origin.stateless === undefined ? 'sessions' : 'stateless';
  try {
    const listed = services.listing().resultJson(era, message.method);
    if (listed !== undefined) return { json: rawResponse(message, listed), status: 200 };
    if (era === 'sessions' && sessionMethods.has(message.method)) {
      return {
        json: rawResponse(message, JSON.stringify(await serveSession(message, origin, services))),
        status: 200,
      };
    }
    if (!isForSource(message.method, origin, services)) {
      throw new RpcError(errorCodes.methodNotFound, `Method not found: ${message.method}`);
    }
    const result = await askSource(message, origin, services);
    return {
      json: rawResponse(message, JSON.stringify(wrapResult(era, message.method, result, serverInfo))),
      status: 200,
    };
  } catch (error) {
    return refusal(message, error, era === 'stateless');
  }
}

/** Also for what is refused before it is served. A rejected token is a tool's error, as Ploinky has it. */
export function refusal(message: JsonRpcRequest, error: unknown, stateless: boolean): Answer {
  if (error instanceof InvocationRejected) {
    if (message.method === 'tools/call') {
      const text = `MCP error ${errorCodes.invalidRequest}: ${error.message}`;
      const result = { content: [{ type: 'text', text }], isError: true };
      const wrapped = wrapResult(stateless ? 'stateless' : 'sessions', message.method, result, serverInfo);
      return { json: rawResponse(message, JSON.stringify(wrapped)), status: 200 };
    }
    return refusal(message, new RpcError(errorCodes.invalidRequest, error.message), stateless);
  }
  const failure = failureFrom(message.id, error);
  return { json: JSON.stringify(failure), status: stateless ? statusOf(failure.error.code) : 200 };
}

/** HTTP status of an error that the server itself, not a tool, gives a client of 2026-07-28. */
function statusOf(code: number): number {
  if (code === errorCodes.methodNotFound) return 404;
  const badRequests: number[] = [
    errorCodes.headerMismatch,
    errorCodes.missingCapability,
    errorCodes.unsupportedVersion,
  ];
  return badRequests.includes(code) ? 400 : 200;
}

function rawResponse(message: JsonRpcRequest, resultJson: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":${resultJson}}`;
}

/** Runs until it is answered, cancelled, or (stateless only) the client goes away. */
async function askSource(message: JsonRpcRequest, origin: Origin, services: McpServices) {
  const { source } = services;
  const params = withoutTask(message.params ?? {}, origin, source.catalog);
  if (origin.stateless !== undefined && message.method === 'tools/call') {
    const tool = source.catalog.tools.find(({ name }) => name === params['name']);
    checkParamHeaders(tool?.inputSchema, params['arguments'], origin.request.headers);
  }
  const controller = new AbortController();
  const calls = origin.session === undefined ? undefined : callsOf(origin.session);
  calls?.set(message.id, controller);
  keepStream(message, origin, services);
  if (origin.stateless !== undefined) {
    origin.exchange.onDisconnect(() =>
      controller.abort(new RpcError(errorCodes.internal, 'The client went away')),
    );
  }
  try {
    return await source.request(message.method, params, callContext(message, origin, controller.signal));
  } finally {
    if (calls?.get(message.id) === controller) calls.delete(message.id);
  }
}

/** A client with a session can come back for what it is told before the answer, and for the answer then. */
function keepStream(message: JsonRpcRequest, origin: Origin, { streams }: McpServices): void {
  const { session, caller, exchange } = origin;
  if (session === undefined || origin.batch) return;
  exchange.keep(() =>
    streams.open({
      session: session.key,
      owner: ownerOf(caller, session),
      request: message.id,
      primes: primes(session),
    }),
  );
}

/** Where tasks of 2025-11-25 are not announced, a call which wants to be one just runs. */
function withoutTask(params: Params, origin: Origin, catalog: Catalog): Params {
  if (params['task'] === undefined || tasksServedTo(origin, catalog) !== undefined) return params;
  const { task: _unserved, ...rest } = params;
  return rest;
}

const sessionMethods: ReadonlySet<string> = new Set([
  'ping',
  'logging/setLevel',
  'resources/subscribe',
  'resources/unsubscribe',
]);

/** Methods that only the sessions era has. */
async function serveSession(message: JsonRpcRequest, origin: Origin, services: McpServices): Promise<object> {
  const params = message.params ?? {};
  if (message.method === 'ping') return {};
  if (message.method === 'logging/setLevel') {
    const level = params['level'];
    if (!isLogLevel(level))
      throw new RpcError(errorCodes.invalidParams, `Unknown log level: ${String(level)}`);
    if (origin.session !== undefined) origin.session.logLevel = level;
    return {};
  }
  if (!services.source.catalog.subscriptions) {
    throw new RpcError(errorCodes.methodNotFound, `Method not found: ${message.method}`);
  }
  const uri = params['uri'];
  if (typeof uri !== 'string') throw new RpcError(errorCodes.invalidParams, 'params.uri must be text');
  await askSource(message, origin, services);
  const { session } = origin;
  if (session === undefined) return {};
  session.subscriptions ??= new Set();
  if (message.method === 'resources/subscribe') session.subscriptions.add(uri);
  else session.subscriptions.delete(uri);
  return {};
}
