import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import {
  errorCodes,
  failureOf,
  isFailure,
  isNotification,
  isRequest,
  isResult,
  type JsonRpcMessage,
  type JsonRpcNotification,
  notificationOf,
  type Params,
  RpcError,
  resultOf,
} from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { AgentServerError } from '../errors.ts';
import type { Progress } from '../source.ts';
import type { UpstreamCall } from './connection.ts';

/** The client's end of a JSON-RPC connection whose messages travel in both directions at any time. */
export interface Peer {
  request(method: string, params: Params, call: UpstreamCall): Promise<Result>;
  notify(method: string, params?: Params): void;
  /** A message from the other end. */
  receive(message: unknown): void;
  /** Ends every request with this error. */
  fail(error: Error): void;
  readonly pending: number;
}

export interface PeerOptions {
  readonly clock: Clock;
  readonly send: (message: JsonRpcMessage) => void;
  readonly onNotification: (notification: JsonRpcNotification) => void;
}

interface Pending {
  resolve(result: Result): void;
  reject(error: unknown): void;
  readonly call: UpstreamCall;
}

export function createPeer({ clock, send, onNotification }: PeerOptions): Peer {
  const pending = new Map<number, Pending>();
  let nextId = 1;

  function request(method: string, params: Params, call: UpstreamCall): Promise<Result> {
    if (call.signal.aborted) return Promise.reject(call.signal.reason);
    const id = nextId++;
    return new Promise<Result>((resolve, reject) => {
      const giveUp = (error: unknown) => {
        send(notificationOf('notifications/cancelled', { requestId: id, reason: 'cancelled' }));
        settle(() => reject(error));
      };
      const onAbort = () => giveUp(call.signal.reason);
      const cancelTimer = clock.after(call.timeoutMs, () => {
        giveUp(
          new AgentServerError(
            'UpstreamTimeout',
            `The MCP server did not answer within ${call.timeoutMs} ms`,
          ),
        );
      });
      const settle = (finish: () => void) => {
        cancelTimer();
        call.signal.removeEventListener('abort', onAbort);
        pending.delete(id);
        finish();
      };
      call.signal.addEventListener('abort', onAbort, { once: true });
      pending.set(id, {
        call,
        resolve: (result) => settle(() => resolve(result)),
        reject: (error) => settle(() => reject(error)),
      });
      send({ jsonrpc: '2.0', id, method, params: withProgressToken(params, id, call) });
    });
  }
  function take(notification: JsonRpcNotification): void {
    if (notification.method === 'notifications/progress') {
      const token = notification.params?.['progressToken'];
      const progress = readProgress(notification.params);
      const waiting = typeof token === 'number' ? pending.get(token) : undefined;
      if (progress !== undefined) waiting?.call.context?.onProgress?.(progress);
    } else onNotification(notification);
  }
  return {
    request,
    notify: (method, params) => send(notificationOf(method, params)),
    receive(message) {
      if (isResult(message)) pending.get(Number(message.id))?.resolve(message.result);
      else if (isFailure(message)) {
        const { code, message: text, data } = message.error;
        pending.get(Number(message.id))?.reject(new RpcError(code, text, data));
      } else if (isNotification(message)) take(message);
      else if (isRequest(message)) send(answerOf(message.id, message.method));
    },
    fail(error) {
      for (const entry of [...pending.values()]) entry.reject(error);
    },
    get pending() {
      return pending.size;
    },
  };
}

/** A shared upstream may ask nothing but whether we are there: no client capability was declared to it. */
function answerOf(id: string | number, method: string): JsonRpcMessage {
  if (method === 'ping') return resultOf(id, {});
  return failureOf(id, errorCodes.methodNotFound, `Method not found: ${method}`);
}

function withProgressToken(params: Params, id: number, call: UpstreamCall): Params {
  if (call.context?.onProgress === undefined) return params;
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  return { ...params, _meta: { ...meta, progressToken: id } };
}

export function readProgress(params: Params | undefined): Progress | undefined {
  const { progress, total, message } = params ?? {};
  if (typeof progress !== 'number') return undefined;
  return {
    progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message }),
  };
}
