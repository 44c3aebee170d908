import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import { firstStatelessRevision, latestSessionRevision } from '#mcp/eras.ts';
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
import type { ConnectionEvents, ListenFor, UpstreamCall, UpstreamInfo } from './connection.ts';
import { discover, isStateless, shakeHands, withEnvelope } from './handshake.ts';
import {
  answerQuestion,
  onlyOne,
  requestHeaders,
  tellCall,
  timeoutSignal,
  withProgressToken,
} from './http-call.ts';
import { exchangeHttp, type HttpAnswer, type HttpTarget, type Resume } from './http-exchange.ts';
import { followStream } from './http-listen.ts';
import { isForgotten, outcomeIn, SessionForgotten, textOf, unanswered } from './http-outcome.ts';
import { createListener, type Listener } from './listener.ts';
import { createParamHeaders } from './param-headers.ts';
import { createQuestionDesk, type QuestionDesk } from './questions.ts';
import type { AnswerQuestion } from './session-clients.ts';
import { createSessionMemory } from './session-memory.ts';

const unknown: UpstreamInfo = { revision: latestSessionRevision, capabilities: {}, instructions: undefined };
const unknownStateless: UpstreamInfo = { ...unknown, revision: firstStatelessRevision };
const shortMs = 5000;
/** Sessions end many at once, and each waits for its turn: a server that is not told keeps them. */
const endMs = 30_000;
const defaultRetryMs = 1000;

/** Errors of one request that would be those of every other, too. */
const lostFor: ReadonlySet<string | undefined> = new Set(['UpstreamLost', 'UpstreamNotAllowed']);

export interface HttpClientOptions {
  readonly target: HttpTarget;
  readonly events: ConnectionEvents;
  readonly clock: Clock;
  /** Declared in the handshake of the sessions era. Default: nothing. */
  readonly capabilities?: Readonly<Record<string, unknown>>;
  /**
   * Asks whether the server serves 2026-07-28 before anything else: what servers of that revision want, and what
   * others answer with an error.
   */
  readonly statelessFirst?: boolean;
  /** Answers what the server asks, on the answer to `context`'s call or on the session's stream. Default: pings. */
  readonly answer?: AnswerQuestion;
}

/** The client's end of one MCP server over Streamable HTTP. */
export class HttpClient {
  /** Resolves when the server could not be reached any more. */
  readonly closed: Promise<string>;
  /** Says that the server cannot be reached any more. */
  readonly markClosed: (reason: string) => void;
  readonly #options: HttpClientOptions;
  readonly #questions: QuestionDesk;
  /** What the session was told, for the one that may have to follow it. */
  readonly memory = createSessionMemory();
  /** Calls that run, of which logs outside of any may speak. */
  readonly #running = new Set<CallContext>();
  #info: UpstreamInfo = unknown;
  #session: string | undefined;
  #reopening: Promise<void> | undefined;
  #listener: Listener | undefined;
  #stopListening = new AbortController();
  #heard: Promise<void> = Promise.resolve();
  #hushed = false;
  #hasBothEras = false;
  readonly #paramHeaders = createParamHeaders();
  #nextId = 1;

  constructor(options: HttpClientOptions) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.markClosed = resolve;
    this.#options = options;
    this.#questions = createQuestionDesk(options.answer ?? answerQuestion, (message) => this.#post(message));
  }

  /** For exchanges that last, which take no call's connection. */
  get #streams(): HttpTarget {
    const { target } = this.#options;
    return { ...target, agent: target.streams };
  }

  get info(): UpstreamInfo {
    return this.#info;
  }

  /** Does the handshake, with a new session if the server has sessions. */
  async open(call: UpstreamCall): Promise<void> {
    this.#session = undefined;
    const { statelessFirst = false } = this.#options;
    const stateless = statelessFirst ? await this.#discover(call) : undefined;
    if (stateless === undefined) {
      const info = await this.#shakeHands(call);
      const isOther = isStateless(info) || statelessFirst;
      this.#info = {
        ...info,
        stateless: isStateless(info) ? info : isOther ? undefined : await this.#discover(call),
      };
      return;
    }
    this.#info = { ...stateless, stateless };
    if (this.#hasBothEras) await this.findSessions(call);
  }

  /** Finds out whether a server of 2026-07-28 has sessions too, for clients that have them. */
  async findSessions(call: UpstreamCall): Promise<void> {
    const { stateless } = this.#info;
    if (stateless === undefined || !isStateless(this.#info)) return;
    const info = await this.#shakeHands(call).catch(() => stateless);
    this.#hasBothEras = !isStateless(info);
    if (this.#hasBothEras) this.#info = { ...info, stateless };
  }

  #shakeHands(call: UpstreamCall): Promise<UpstreamInfo> {
    const ask = (method: string, params: Params) =>
      this.#ask(method === 'server/discover' ? unknownStateless : unknown, method, params, call);
    const onInitialized = () => this.#post(notificationOf('notifications/initialized'));
    return shakeHands(ask, onInitialized, this.#options.capabilities);
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
    if (this.#reopening !== undefined) await this.#reopening;
    const info = this.#infoFor(call.context);
    if (isStateless(info)) {
      const result = await this.#ask(info, method, withEnvelope(params, call.context), call);
      if (method === 'tools/list') this.#paramHeaders.learn(params, result);
      return result;
    }
    const logs = info.capabilities['logging'] !== undefined;
    const level = logs ? this.memory.levelFor(call.context?.logLevel) : undefined;
    if (level !== undefined) await this.#tell(info, 'logging/setLevel', { level }, call);
    const session = this.#session;
    const { context } = call;
    if (context !== undefined) this.#running.add(context);
    try {
      const result = await this.#ask(info, method, params, call);
      if (method.startsWith('resources/')) this.memory.note(method, params);
      return result;
    } catch (error) {
      if (!(error instanceof SessionForgotten)) throw error;
      if (session === this.#session) this.#reopening ??= this.#replace(reopen, call);
      await this.#reopening;
      return await this.#ask(this.#info, method, params, call);
    } finally {
      if (context !== undefined) this.#running.delete(context);
    }
  }

  /** A new session in the place of a forgotten one, brought to where that was. */
  async #replace(reopen: () => Promise<void>, call: UpstreamCall): Promise<void> {
    try {
      await reopen();
      const own = { ...call, signal: new AbortController().signal };
      for (const { method, params } of this.memory.replay())
        await this.#tell(this.#info, method, params, own);
      this.listen();
    } finally {
      this.#reopening = undefined;
    }
  }

  /** A request whose failure concerns no call. */
  async #tell(info: UpstreamInfo, method: string, params: Params, call: UpstreamCall): Promise<void> {
    const told = this.#ask(info, method, params, { ...call, context: undefined });
    await told.catch(() => undefined);
    this.memory.note(method, params);
  }

  /** Each client is served in its own era where the server has both. */
  #infoFor(context: CallContext | undefined): UpstreamInfo {
    return context?.era === 'stateless' ? (this.#info.stateless ?? this.#info) : this.#info;
  }

  /** Reads what the server tells outside of calls, until the end; anew when it is called again. */
  listen(): void {
    if (this.#hushed) return;
    this.#stopListening.abort(new Error('The stream is replaced'));
    this.#stopListening = new AbortController();
    const { signal } = this.#stopListening;
    const hear = (message: unknown) => {
      this.#hear(message, undefined, signal);
      return false;
    };
    if (isStateless(this.#info)) {
      this.#listener ??= createListener({
        clock: this.#options.clock,
        onNotification: this.#options.events.onNotification,
        listen: (params, onNotification, stop) => this.#subscribe(params, onNotification, stop),
      });
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#heard = promise;
    const own = {
      clock: this.#options.clock,
      get: (lastEventId: string | undefined) =>
        this.#get(this.#info, lastEventId, signal, hear, resolve).finally(resolve),
      onMissed: () => this.#options.events.onNotification(notificationOf('notifications/tools/list_changed')),
      onLost: this.markClosed,
    };
    void followStream(own, signal);
  }

  /** Resolves when the server has answered for the first time what its own stream in the session is. */
  get heard(): Promise<void> {
    return this.#heard;
  }

  /** The server of 2026-07-28 tells of this resource from now on. */
  async subscribe(uri: string): Promise<void> {
    await this.#listener?.add(uri);
  }

  unsubscribe(uri: string): void {
    this.#listener?.remove(uri);
  }

  /** As UpstreamConnection.listen. */
  readonly listenFor: ListenFor = (params, context, onNotification, signal) =>
    this.#subscribe(params, onNotification, signal, context);

  async #subscribe(
    params: Params,
    onNotification: (notification: JsonRpcNotification) => void,
    signal: AbortSignal,
    context?: CallContext,
  ): Promise<void> {
    const method = 'subscriptions/listen';
    const sent = withEnvelope(params, context);
    const message = { jsonrpc: '2.0', id: this.#nextId++, method, params: sent } as const;
    let outcome: Result | RpcError | undefined;
    const hear = (received: unknown) => {
      if (isNotification(received)) onNotification(received);
      else outcome ??= outcomeIn(received, message.id);
      return false;
    };
    const info = this.#infoFor(context);
    const answer = await this.#exchange(info, message, signal, context, hear, this.#streams);
    if (outcome instanceof RpcError) throw outcome;
    if (answer.status !== 200) throw unanswered(answer.status);
  }

  /** Listens no more, not even in a session that replaces this one. */
  hush(): void {
    this.#hushed = true;
    this.#stopListening.abort(new Error('The session ends'));
    this.#listener?.close();
  }

  /** Ends the session. */
  async end(): Promise<void> {
    this.hush();
    if (this.#session === undefined) return;
    const headers = requestHeaders(this.#info, this.#session, undefined, undefined);
    const { target } = this.#options;
    const ended = exchangeHttp(target, 'DELETE', headers, undefined, AbortSignal.timeout(endMs), () => false);
    await ended.catch(() => undefined);
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
      if (lostFor.has(codeOf(error))) this.markClosed(messageOf(error));
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

  #keepSession(info: UpstreamInfo, { status, headers }: HttpAnswer, outcome: unknown): void {
    if (isStateless(info)) return;
    if (this.#session !== undefined && isForgotten(status, outcome)) throw new SessionForgotten();
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
    const answer = await this.#get(info, lastEventId, signal, onMessage);
    if (answer.status !== 200) return undefined;
    return { lastEventId, ...answer.resume, retryMs: answer.resume?.retryMs ?? retryMs };
  }

  #get(
    info: UpstreamInfo,
    lastEventId: string | undefined,
    signal: AbortSignal,
    onMessage: (received: unknown) => boolean,
    onHead?: () => void,
  ): Promise<HttpAnswer> {
    const headers = requestHeaders(info, this.#session, undefined, undefined);
    if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
    return exchangeHttp(this.#streams, 'GET', headers, undefined, signal, onMessage, onHead);
  }

  /** A message that is not the answer: progress and logs of the call, a question, or something general. */
  #hear(message: unknown, context: CallContext | undefined, signal: AbortSignal): void {
    if (isNotification(message)) {
      const params = message.params ?? {};
      if (message.method === 'notifications/cancelled') this.#questions.withdraw(params);
      else if (!tellCall(message.method, params, context ?? onlyOne(this.#running)))
        this.#options.events.onNotification(message);
    } else if (isRequest(message)) this.#questions.take(message, context, signal);
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
    target = this.#options.target,
  ): Promise<HttpAnswer> {
    const headers = requestHeaders(info, isStateless(info) ? undefined : this.#session, message, context);
    if (isStateless(info) && isRequest(message)) Object.assign(headers, this.#paramHeaders.of(message));
    return exchangeHttp(target, 'POST', headers, JSON.stringify(message), signal, onMessage);
  }
}
