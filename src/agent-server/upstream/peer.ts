import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import {
  errorCodes,
  isFailure,
  isNotification,
  isRequest,
  isResponse,
  isResult,
  type JsonRpcFailure,
  type JsonRpcMessage,
  type JsonRpcNotification,
  notificationOf,
  type Params,
  RpcError,
} from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { CallContext } from '../source.ts';
import type { UpstreamCall } from './connection.ts';
import { answerQuestion, onlyOne, tellCall, timedOut } from './http-call.ts';
import { createStreams } from './peer-streams.ts';
import { createQuestionDesk } from './questions.ts';
import type { AnswerQuestion } from './session-clients.ts';

/** The client's end of a JSON-RPC connection whose messages travel in both directions at any time. */
export interface Peer {
  request(method: string, params: Params, call: UpstreamCall): Promise<Result>;
  notify(method: string, params?: Params): void;
  /** `subscriptions/listen` of 2026-07-28; its notifications come here alone. An abort ends it and rejects. */
  listen(
    params: Params,
    onNotification: (notification: JsonRpcNotification) => void,
    signal: AbortSignal,
  ): Promise<unknown>;
  /** A message from the other end. */
  receive(message: unknown): void;
  /** Ends every request with this error, later ones too. */
  fail(error: Error): void;
  readonly pending: number;
}

export interface PeerOptions {
  readonly clock: Clock;
  readonly send: (message: JsonRpcMessage) => void;
  readonly onNotification: (notification: JsonRpcNotification) => void;
  /** Answers what the other end asks. Default: pings. */
  readonly answer?: AnswerQuestion;
}

interface Pending {
  resolve(result: Result): void;
  reject(error: unknown): void;
  readonly call: UpstreamCall;
}

export function createPeer({ clock, send, onNotification, answer = answerQuestion }: PeerOptions): Peer {
  const pending = new Map<number, Pending>();
  const questions = createQuestionDesk(answer, async (message) => send(message));
  const streams = createStreams(send);
  /** What is asked while calls run ends with them. */
  let asked: AbortController | undefined;
  let failure: Error | undefined;
  let nextId = 1;

  function request(method: string, params: Params, call: UpstreamCall): Promise<Result> {
    if (call.signal.aborted) return Promise.reject(call.signal.reason);
    if (failure !== undefined) return Promise.reject(failure);
    const id = nextId++;
    return new Promise<Result>((resolve, reject) => {
      const giveUp = (error: unknown) => {
        send(notificationOf('notifications/cancelled', { requestId: id, reason: 'cancelled' }));
        settle(() => reject(error));
      };
      const onAbort = () => giveUp(call.signal.reason);
      const cancelTimer = clock.after(call.timeoutMs, () => {
        giveUp(timedOut(call.timeoutMs));
      });
      const settle = (finish: () => void) => {
        cancelTimer();
        call.signal.removeEventListener('abort', onAbort);
        pending.delete(id);
        finish();
        if (pending.size > 0 || asked === undefined) return;
        asked.abort(new RpcError(errorCodes.internal, 'The call is over'));
        asked = undefined;
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
    const { method, params = {} } = notification;
    if (streams.take(notification)) return;
    if (method === 'notifications/cancelled') questions.withdraw(params);
    else if (method === 'notifications/progress') {
      const token = params['progressToken'];
      const waiting = typeof token === 'number' ? pending.get(token) : undefined;
      tellCall(method, params, waiting?.call.context);
    } else if (!tellCall(method, params, onlyOne(contextsOf(pending)))) onNotification(notification);
  }
  return {
    request,
    notify: (method, params) => send(notificationOf(method, params)),
    listen: (params, onStreamed, signal) => streams.open(nextId++, params, onStreamed, signal),
    receive(message) {
      if (isResponse(message) && streams.end(message)) return;
      if (isResult(message)) pending.get(Number(message.id))?.resolve(message.result);
      else if (isFailure(message)) pending.get(Number(message.id))?.reject(errorIn(message));
      else if (isNotification(message)) take(message);
      else if (isRequest(message)) {
        asked ??= new AbortController();
        questions.take(message, undefined, asked.signal);
      }
    },
    fail(error) {
      failure ??= error;
      for (const entry of [...pending.values()]) entry.reject(error);
      streams.fail(error);
    },
    get pending() {
      return pending.size;
    },
  };
}

function errorIn({ error: { code, message, data } }: JsonRpcFailure): RpcError {
  return new RpcError(code, message, data);
}

function contextsOf(pending: ReadonlyMap<number, Pending>): Set<CallContext> {
  const contexts = new Set<CallContext>();
  for (const { call } of pending.values()) if (call.context !== undefined) contexts.add(call.context);
  return contexts;
}

function withProgressToken(params: Params, id: number, call: UpstreamCall): Params {
  if (call.context?.onProgress === undefined) return params;
  const meta = isObject(params['_meta']) ? params['_meta'] : {};
  return { ...params, _meta: { ...meta, progressToken: id } };
}
