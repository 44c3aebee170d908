import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import {
  errorCodes,
  isNotification,
  isRequest,
  type JsonRpcMessage,
  type JsonRpcNotification,
  type JsonRpcRequest,
  notificationOf,
  type Params,
  RpcError,
} from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { CallContext } from '../source.ts';
import type { UpstreamCall, UpstreamInfo } from './connection.ts';
import { isStateless, withEnvelope } from './handshake.ts';
import {
  answerQuestion,
  onlyOne,
  requestHeaders,
  tellCall,
  timeoutSignal,
  withProgressToken,
} from './http-call.ts';
import { exchangeHttp, type HttpAnswer, type HttpTarget, type Resume } from './http-exchange.ts';
import { isForgotten, outcomeIn, SessionForgotten, textOf, unanswered } from './http-outcome.ts';
import { createParamHeaders } from './param-headers.ts';
import { createQuestionDesk, type QuestionDesk } from './questions.ts';
import type { AnswerQuestion } from './session-clients.ts';

/** Milliseconds for what nobody waits for. */
export const shortMs = 5000;
const defaultRetryMs = 1000;

/** Errors of one request that would be those of every other, too. */
const lostFor: ReadonlySet<string | undefined> = new Set(['UpstreamLost', 'UpstreamNotAllowed']);

export interface HttpRequestsOptions {
  readonly target: HttpTarget;
  readonly clock: Clock;
  /** What messages are sent as that belong to no request. */
  readonly info: () => UpstreamInfo;
  readonly answer?: AnswerQuestion | undefined;
  readonly onNotification: (notification: JsonRpcNotification) => void;
  /** The server cannot be reached any more. */
  readonly onLost: (reason: string) => void;
}

/** What goes to one MCP server over Streamable HTTP and comes back, message by message, in the era of each. */
export class HttpRequests {
  /** The session that messages of that era belong to; a handshake's answer begins it. */
  session: string | undefined;
  /** Calls that run, of which logs outside of any may speak. */
  readonly running = new Set<CallContext>();
  readonly paramHeaders = createParamHeaders();
  readonly #options: HttpRequestsOptions;
  readonly #questions: QuestionDesk;
  #lastId = 0;

  constructor(options: HttpRequestsOptions) {
    this.#options = options;
    this.#questions = createQuestionDesk(options.answer ?? answerQuestion, (message) => this.post(message));
  }

  /** Of the next request. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  /** For exchanges that last, which take no call's connection. */
  get #streams(): HttpTarget {
    const { target } = this.#options;
    return { ...target, agent: target.streams };
  }

  /** One request. Rejects with the server's RpcError, SessionForgotten, or why there is no answer. */
  async ask(info: UpstreamInfo, method: string, params: Params, call: UpstreamCall): Promise<Result> {
    const message: JsonRpcRequest = { jsonrpc: '2.0', id: this.nextId(), method, params };
    if (call.context?.onProgress !== undefined) message.params = withProgressToken(params, message.id);
    const timeout = timeoutSignal(call, this.#options.clock);
    try {
      return await this.askOnce(info, message, timeout.signal, call);
    } catch (error) {
      if (call.signal.aborted && !isStateless(info)) {
        void this.post(
          notificationOf('notifications/cancelled', { requestId: message.id, reason: 'cancelled' }),
        );
      }
      if (lostFor.has(codeOf(error))) this.#options.onLost(messageOf(error));
      throw error;
    } finally {
      timeout.clear();
    }
  }

  /** As ask, of a message that has its id, for as long as `signal` lets it. */
  async askOnce(
    info: UpstreamInfo,
    message: JsonRpcRequest,
    signal: AbortSignal,
    call: UpstreamCall,
  ): Promise<Result> {
    let outcome: Result | RpcError | undefined;
    const answered = new AbortController();
    const take = (received: unknown) => {
      outcome ??= outcomeIn(received, message.id);
      if (outcome === undefined) this.hear(received, call.context, answered.signal);
      return outcome !== undefined;
    };
    try {
      const answer = await this.#exchange(info, message, signal, call.context, take);
      this.#keepSession(info, answer, outcome);
      let { resume } = answer;
      while (outcome === undefined && resume !== undefined) {
        call.context?.onPause?.(resume.retryMs);
        resume = await this.#resume(info, resume, signal, take);
      }
      if (outcome === undefined) throw unanswered(answer.status);
      if (outcome instanceof RpcError) throw outcome;
      return outcome;
    } finally {
      answered.abort(new RpcError(errorCodes.internal, 'The call is over'));
    }
  }

  /** Listens until the stream ends. Rejects when the server does not let it. */
  async subscribe(
    info: UpstreamInfo,
    params: Params,
    onNotification: (notification: JsonRpcNotification) => void,
    signal: AbortSignal,
    context?: CallContext,
  ): Promise<void> {
    const method = 'subscriptions/listen';
    const sent = withEnvelope(params, context);
    const message = { jsonrpc: '2.0', id: this.nextId(), method, params: sent } as const;
    let outcome: Result | RpcError | undefined;
    const hear = (received: unknown) => {
      if (isNotification(received)) onNotification(received);
      else outcome ??= outcomeIn(received, message.id);
      return false;
    };
    const answer = await this.#exchange(info, message, signal, context, hear, this.#streams);
    if (outcome instanceof RpcError) throw outcome;
    if (answer.status !== 200) throw unanswered(answer.status);
  }

  #keepSession(info: UpstreamInfo, { status, headers }: HttpAnswer, outcome: unknown): void {
    if (isStateless(info)) return;
    if (this.session !== undefined && isForgotten(status, outcome)) throw new SessionForgotten();
    this.session = textOf(headers['mcp-session-id']) ?? this.session;
  }

  /** The rest of a stream that the server ended before its answer. Undefined when it gives no more. */
  async #resume(
    info: UpstreamInfo,
    { lastEventId, retryMs }: Resume,
    signal: AbortSignal,
    onMessage: (received: unknown) => boolean,
  ): Promise<Resume | undefined> {
    await this.#options.clock.sleep(retryMs ?? defaultRetryMs, signal);
    const answer = await this.get(info, lastEventId, signal, onMessage);
    if (answer.status !== 200) return undefined;
    return { lastEventId, ...answer.resume, retryMs: answer.resume?.retryMs ?? retryMs };
  }

  /** A stream of the session, from `lastEventId` on. */
  get(
    info: UpstreamInfo,
    lastEventId: string | undefined,
    signal: AbortSignal,
    onMessage: (received: unknown) => boolean,
    onHead?: () => void,
  ): Promise<HttpAnswer> {
    const headers = requestHeaders(info, this.session, undefined, undefined);
    if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
    return exchangeHttp(this.#streams, 'GET', headers, undefined, signal, onMessage, onHead);
  }

  /** A message that is not the answer: progress and logs of the call, a question, or something general. */
  hear(message: unknown, context: CallContext | undefined, signal: AbortSignal): void {
    if (isNotification(message)) {
      const params = message.params ?? {};
      if (message.method === 'notifications/cancelled') this.#questions.withdraw(params);
      else if (!tellCall(message.method, params, context ?? onlyOne(this.running)))
        this.#options.onNotification(message);
    } else if (isRequest(message)) this.#questions.take(message, context, signal);
  }

  /** Sends what has no answer. Whether it arrives shows by itself. */
  async post(message: JsonRpcMessage): Promise<void> {
    const signal = AbortSignal.timeout(shortMs);
    await this.#exchange(this.#options.info(), message, signal, undefined, () => false).catch(
      () => undefined,
    );
  }

  #exchange(
    info: UpstreamInfo,
    message: JsonRpcMessage,
    signal: AbortSignal,
    context: CallContext | undefined,
    onMessage: (received: unknown) => boolean,
    target = this.#options.target,
  ): Promise<HttpAnswer> {
    const headers = requestHeaders(info, isStateless(info) ? undefined : this.session, message, context);
    if (isStateless(info) && isRequest(message)) Object.assign(headers, this.paramHeaders.of(message));
    return exchangeHttp(target, 'POST', headers, JSON.stringify(message), signal, onMessage);
  }
}
