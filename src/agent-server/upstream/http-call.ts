import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { encodeHeaderValue, nameHeaderOf } from '#mcp/headers.ts';
import { errorCodes, type JsonRpcMessage, type Params, type RequestId, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { isLogLevel } from '#mcp/types.ts';
import { AgentServerError } from '../errors.ts';
import type { CallContext, Progress } from '../source.ts';
import type { UpstreamCall, UpstreamInfo } from './connection.ts';
import { isStateless } from './handshake.ts';

/**
 * Headers of a request to an HTTP upstream. The invocation's token goes along, as agents with a server of
 * their own expect (Ploinky contract, §3), and so do the `Mcp-Param-*` headers of the client.
 */
export function requestHeaders(
  info: UpstreamInfo,
  session: string | undefined,
  message: JsonRpcMessage | undefined,
  context: CallContext | undefined,
): Record<string, string> {
  const headers: Record<string, string> = {
    accept: message === undefined ? 'text/event-stream' : 'application/json, text/event-stream',
    ...(message !== undefined && { 'content-type': 'application/json' }),
    ...(session !== undefined && { 'mcp-session-id': session }),
    ...(context?.token !== undefined && { authorization: `Bearer ${context.token}` }),
  };
  if (message !== undefined && 'method' in message && message.method === 'initialize') return headers;
  headers['mcp-protocol-version'] = info.revision;
  if (!isStateless(info) || message === undefined || !('method' in message)) return headers;
  headers['mcp-method'] = message.method;
  const name = 'id' in message ? nameHeaderOf(message) : undefined;
  if (name !== undefined) headers['mcp-name'] = encodeHeaderValue(name);
  for (const [key, value] of Object.entries(context?.headers ?? {})) {
    if (key.startsWith('mcp-param-') && typeof value === 'string') headers[key] = value;
  }
  return headers;
}

export function withProgressToken(params: Params, id: RequestId): Params {
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  return { ...params, _meta: { ...meta, progressToken: id } };
}

/** Passes progress and logs on to the call whose answer they came with. True when that was all there is to do. */
export function tellCall(method: string, params: Params, context: CallContext | undefined): boolean {
  if (context === undefined) return false;
  const { level, data, logger } = params;
  const progress = method === 'notifications/progress' ? readProgress(params) : undefined;
  if (progress !== undefined) context.onProgress?.(progress);
  else if (method === 'notifications/message' && isLogLevel(level)) {
    context.onLog(level, data, typeof logger === 'string' ? logger : undefined);
  } else return false;
  return true;
}

/** A log that names no call belongs to the only one that runs, else to nobody. */
export function onlyOne(running: ReadonlySet<CallContext>): CallContext | undefined {
  const [only] = running;
  return running.size === 1 ? only : undefined;
}

/** No client capability was declared to the upstream, so it may ask for nothing but a ping. */
export async function answerQuestion(method: string): Promise<Result> {
  if (method === 'ping') return {};
  throw new RpcError(errorCodes.methodNotFound, `Method not found: ${method}`);
}

/** The call's signal, aborted too when its time is up. `clear` must be called at the end. */
export function timeoutSignal(call: UpstreamCall, clock: Clock): { signal: AbortSignal; clear: () => void } {
  const controller = new AbortController();
  const onAbort = () => controller.abort(call.signal.reason);
  if (call.signal.aborted) onAbort();
  call.signal.addEventListener('abort', onAbort, { once: true });
  const cancel = clock.after(call.timeoutMs, () => {
    controller.abort(timedOut(call.timeoutMs));
  });
  return {
    signal: controller.signal,
    clear() {
      cancel();
      call.signal.removeEventListener('abort', onAbort);
    },
  };
}

export function timedOut(ms: number): AgentServerError {
  return new AgentServerError('UpstreamTimeout', `The MCP server did not answer within ${ms} ms`);
}

function readProgress(params: Params | undefined): Progress | undefined {
  const { progress, total, message } = params ?? {};
  if (typeof progress !== 'number') return undefined;
  return {
    progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message }),
  };
}
