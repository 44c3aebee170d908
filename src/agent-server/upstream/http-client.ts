import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { firstStatelessRevision, latestSessionRevision } from '#mcp/eras.ts';
import {
  errorCodes,
  failureFrom,
  isFailure,
  isNotification,
  isRequest,
  isRequestId,
  isResult,
  type JsonRpcMessage,
  type JsonRpcRequest,
  notificationOf,
  type Params,
  type RequestId,
  RpcError,
  resultOf,
} from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { AgentServerError } from '../errors.ts';
import type { CallContext } from '../source.ts';
import type { ConnectionEvents, UpstreamCall, UpstreamInfo } from './connection.ts';
import { discover, isStateless, shakeHands, withEnvelope } from './handshake.ts';
import { answerQuestion, requestHeaders, tellCall, timeoutSignal, withProgressToken } from './http-call.ts';
import { exchangeHttp, type HttpAnswer, type HttpTarget, type Resume } from './http-exchange.ts';

const unknown: UpstreamInfo = { revision: latestSessionRevision, capabilities: {}, instructions: undefined };
const unknownStateless: UpstreamInfo = { ...unknown, revision: firstStatelessRevision };
const shortMs = 5000;
const defaultRetryMs = 1000;

export interface HttpClientOptions {
  readonly target: HttpTarget;
  readonly events: ConnectionEvents;
  readonly clock: Clock;
  /** Declared in the handshake of the sessions era. Default: nothing. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /** Answers what the server asks, on the answer to `context`'s call or on the session's stream. Default: pings. */
  readonly answer?: (
    method: string,
    params: Params,
    context: CallContext | undefined,
    signal: AbortSignal,
  ) => Promise<Result>;
}

/** The client's end of one MCP server over Streamable HTTP. */
export class HttpClient {
  /** Resolves when the server could not be reached any more. */
  readonly closed: Promise<string>;
  /** Says that the server cannot be reached any more. */
  readonly markClosed: (reason: string) => void;
  readonly #options: HttpClientOptions;
  /** The server's questions that are being answered. */
  readonly #questions = new Map<RequestId, AbortController>();
  #info: UpstreamInfo = unknown;
  #session: string | undefined;
  #reopening: Promise<void> | undefined;
  #nextId = 1;

  constructor(options: HttpClientOptions) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.markClosed = resolve;
    this.#options = options;
  }

  get info(): UpstreamInfo {
    return this.#info;
  }

  /** Does the handshake, with a new session if the server has sessions. */
  async open(call: UpstreamCall): Promise<void> {
    this.#session = undefined;
    this.#info = unknown;
    const ask = (method: string, params: Params) =>
      this.#ask(method === 'server/discover' ? unknownStateless : unknown, method, params, call);
    const onInitialized = () => this.#post(notificationOf('notifications/initialized'));
    const info = await shakeHands(ask, onInitialized, this.#options.capabilities);
    this.#info = { ...info, stateless: isStateless(info) ? info : await this.#discover(call) };
  }

  /** Whether a server with sessions serves clients of 2026-07-28 as well; one that does not say so, does not. */
  async #discover(call: UpstreamCall): Promise<UpstreamInfo | undefined> {
    const short = timeoutSignal(
      { ...call, timeoutMs: Math.min(call.timeoutMs, shortMs) },
      this.#options.clock,
    );
    try {
      return await discover((method, params) => {
        const message = { jsonrpc: '2.0', id: this.#nextId++, method, params } as const;
        return this.#askOnce(unknownStateless, message, short.signal, call);
      });
    } catch {
      return undefined;
    } finally {
      short.clear();
    }
  }

  /** `reopen` is called, and the request sent once more, when the server has forgotten the session. */
  async request(
    method: string,
    params: Params,
    call: UpstreamCall,
    reopen: () => Promise<void>,
  ): Promise<Result> {
    const info = this.#infoFor(call.context);
    if (isStateless(info)) return this.#ask(info, method, withEnvelope(params, call.context), call);
    try {
      return await this.#ask(info, method, params, call);
    } catch (error) {
      if (!(error instanceof SessionForgotten)) throw error;
      this.#reopening ??= reopen().finally(() => {
        this.#reopening = undefined;
      });
      await this.#reopening;
      return this.#ask(this.#info, method, params, call);
    }
  }

  /** Each client is served in its own era where the server has both. */
  #infoFor(context: CallContext | undefined): UpstreamInfo {
    return context?.era === 'stateless' ? (this.#info.stateless ?? this.#info) : this.#info;
  }

  /** Reads what the server tells outside of calls, as long as it wants to be listened to. */
  async listen(signal: AbortSignal): Promise<void> {
    const hearAll = (message: unknown) => {
      this.#hear(message, undefined, signal);
      return false;
    };
    // A server without such a stream answers 405 or an error; one that ends it is not asked again.
    if (isStateless(this.#info)) {
      const params = listenParams();
      const message = { jsonrpc: '2.0', id: this.#nextId++, method: 'subscriptions/listen', params } as const;
      await this.#exchange(this.#info, message, signal, undefined, hearAll).catch(() => undefined);
    } else await this.#bare('GET', signal, hearAll);
  }

  /** Ends the session. */
  async end(): Promise<void> {
    if (this.#session !== undefined) await this.#bare('DELETE', AbortSignal.timeout(shortMs), () => false);
  }

  async #ask(info: UpstreamInfo, method: string, params: Params, call: UpstreamCall): Promise<Result> {
    const message: JsonRpcRequest = { jsonrpc: '2.0', id: this.#nextId++, method, params };
    if (call.context?.onProgress !== undefined) message.params = withProgressToken(params, message.id);
    const timeout = timeoutSignal(call, this.#options.clock);
    try {
      return await this.#askOnce(info, message, timeout.signal, call);
    } catch (error) {
      if (call.signal.aborted && !isStateless(info)) {
        void this.#post(
          notificationOf('notifications/cancelled', { requestId: message.id, reason: 'cancelled' }),
        );
      }
      if (codeOf(error) === 'UpstreamLost') this.markClosed(messageOf(error));
      throw error;
    } finally {
      timeout.clear();
    }
  }

  async #askOnce(
    info: UpstreamInfo,
    message: JsonRpcRequest,
    signal: AbortSignal,
    call: UpstreamCall,
  ): Promise<Result> {
    let outcome: Result | RpcError | undefined;
    const answered = new AbortController();
    const take = (received: unknown) => {
      outcome ??= outcomeIn(received, message.id);
      if (outcome === undefined) this.#hear(received, call.context, answered.signal);
      return outcome !== undefined;
    };
    try {
      const answer = await this.#exchange(info, message, signal, call.context, take);
      this.#keepSession(info, answer);
      let { resume } = answer;
      while (outcome === undefined && resume !== undefined)
        resume = await this.#resume(info, resume, signal, take);
      if (outcome === undefined) throw unanswered(answer.status);
      if (outcome instanceof RpcError) throw outcome;
      return outcome;
    } finally {
      answered.abort(new RpcError(errorCodes.internal, 'The call is over'));
    }
  }

  #keepSession(info: UpstreamInfo, { status, headers }: HttpAnswer): void {
    if (isStateless(info)) return;
    if (status === 404 && this.#session !== undefined) throw new SessionForgotten();
    this.#session = textOf(headers['mcp-session-id']) ?? this.#session;
  }

  /** The rest of a stream that the server ended before its answer. Undefined when it gives no more. */
  async #resume(
    info: UpstreamInfo,
    { lastEventId, retryMs }: Resume,
    signal: AbortSignal,
    onMessage: (received: unknown) => boolean,
  ): Promise<Resume | undefined> {
    await this.#options.clock.sleep(retryMs ?? defaultRetryMs, signal);
    const headers = requestHeaders(info, this.#session, undefined, undefined);
    const resumed = { ...headers, 'last-event-id': lastEventId };
    const answer = await exchangeHttp(this.#options.target, 'GET', resumed, undefined, signal, onMessage);
    if (answer.status !== 200) return undefined;
    return { lastEventId, ...answer.resume, retryMs: answer.resume?.retryMs ?? retryMs };
  }

  /** A message that is not the answer: progress and logs of the call, a question, or something general. */
  #hear(message: unknown, context: CallContext | undefined, signal: AbortSignal): void {
    if (isNotification(message)) {
      const params = message.params ?? {};
      if (message.method === 'notifications/cancelled') this.#questions.get(readId(params))?.abort();
      else if (!tellCall(message.method, params, context)) this.#options.events.onNotification(message);
    } else if (isRequest(message)) void this.#answer(message, context, signal);
  }

  /** Nobody hears the answer to a question that was withdrawn, or whose call is over. */
  async #answer(
    { id, method, params }: JsonRpcRequest,
    context: CallContext | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const withdrawn = new AbortController();
    const stopped = AbortSignal.any([withdrawn.signal, signal]);
    this.#questions.set(id, withdrawn);
    const answer = this.#options.answer ?? answerQuestion;
    const message = await answer(method, params ?? {}, context, stopped).then(
      (result) => resultOf(id, result),
      (error: unknown) => failureFrom(id, error),
    );
    this.#questions.delete(id);
    if (!stopped.aborted) await this.#post(message);
  }

  /** Sends what has no answer. Whether it arrives shows by itself. */
  async #post(message: JsonRpcMessage): Promise<void> {
    const signal = AbortSignal.timeout(shortMs);
    await this.#exchange(this.#info, message, signal, undefined, () => false).catch(() => undefined);
  }

  #exchange(
    info: UpstreamInfo,
    message: JsonRpcMessage,
    signal: AbortSignal,
    context: CallContext | undefined,
    onMessage: (received: unknown) => boolean,
  ): Promise<HttpAnswer> {
    const headers = requestHeaders(info, isStateless(info) ? undefined : this.#session, message, context);
    return exchangeHttp(this.#options.target, 'POST', headers, JSON.stringify(message), signal, onMessage);
  }

  async #bare(
    method: 'GET' | 'DELETE',
    signal: AbortSignal,
    onMessage: (message: unknown) => boolean,
  ): Promise<void> {
    const headers = requestHeaders(this.#info, this.#session, undefined, undefined);
    await exchangeHttp(this.#options.target, method, headers, undefined, signal, onMessage).catch(
      () => undefined,
    );
  }
}

/** The server answered 404 to a session that it gave; nothing was run. */
class SessionForgotten extends AgentServerError {
  constructor() {
    super('UpstreamInvalid', "The agent's MCP server has forgotten its session");
  }
}

function listenParams(): Params {
  return withEnvelope({
    notifications: { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true },
  });
}

function readId({ requestId }: Params): RequestId {
  return isRequestId(requestId) ? requestId : '';
}

function outcomeIn(message: unknown, id: RequestId): Result | RpcError | undefined {
  if (isResult(message) && message.id === id) return message.result;
  if (!isFailure(message) || (message.id !== id && message.id !== null)) return undefined;
  return new RpcError(message.error.code, message.error.message, message.error.data);
}

function unanswered(status: number): AgentServerError {
  return new AgentServerError('UpstreamInvalid', `The agent's MCP server gave no answer (HTTP ${status})`);
}

function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
