import type { Clock } from '#kit/clock.ts';
import { firstStatelessRevision, latestSessionRevision } from '#mcp/eras.ts';
import { notificationOf, type Params } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { CallContext } from '../source.ts';
import type { ConnectionEvents, ListenFor, UpstreamCall, UpstreamInfo } from './connection.ts';
import { discover, isStateless, shakeHands, withEnvelope } from './handshake.ts';
import { requestHeaders, timeoutSignal } from './http-call.ts';
import { exchangeHttp, type HttpTarget } from './http-exchange.ts';
import { followStream } from './http-listen.ts';
import { SessionForgotten } from './http-outcome.ts';
import { HttpRequests, shortMs } from './http-requests.ts';
import { createListener, type Listener } from './listener.ts';
import type { AnswerQuestion } from './session-clients.ts';
import { createSessionMemory } from './session-memory.ts';

const unknown: UpstreamInfo = { revision: latestSessionRevision, capabilities: {}, instructions: undefined };
const unknownStateless: UpstreamInfo = { ...unknown, revision: firstStatelessRevision };
/** Sessions end many at once, and each waits for its turn: a server that is not told keeps them. */
const endMs = 30_000;

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
  readonly #requests: HttpRequests;
  /** What the session was told, for the one that may have to follow it. */
  readonly memory = createSessionMemory();
  #info: UpstreamInfo = unknown;
  #reopening: Promise<void> | undefined;
  #listener: Listener | undefined;
  #stopListening = new AbortController();
  #heard: Promise<void> = Promise.resolve();
  #hushed = false;
  #hasBothEras = false;

  constructor(options: HttpClientOptions) {
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.markClosed = resolve;
    this.#options = options;
    const { target, clock, answer, events } = options;
    this.#requests = new HttpRequests({
      ...{ target, clock, answer, onLost: resolve },
      info: () => this.#info,
      onNotification: (notification) => events.onNotification(notification),
    });
  }

  get info(): UpstreamInfo {
    return this.#info;
  }

  /** Does the handshake, with a new session if the server has sessions. */
  async open(call: UpstreamCall): Promise<void> {
    this.#requests.session = undefined;
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
      this.#requests.ask(method === 'server/discover' ? unknownStateless : unknown, method, params, call);
    const onInitialized = () => this.#requests.post(notificationOf('notifications/initialized'));
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
        const message = { jsonrpc: '2.0', id: this.#requests.nextId(), method, params } as const;
        return this.#requests.askOnce(unknownStateless, message, short.signal, call);
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
      const result = await this.#requests.ask(info, method, withEnvelope(params, call.context), call);
      if (method === 'tools/list') this.#requests.paramHeaders.learn(params, result);
      return result;
    }
    const logs = info.capabilities['logging'] !== undefined;
    const level = logs ? this.memory.levelFor(call.context?.logLevel) : undefined;
    if (level !== undefined) await this.#tell(info, 'logging/setLevel', { level }, call);
    const session = this.#requests.session;
    const { context } = call;
    if (context !== undefined) this.#requests.running.add(context);
    try {
      const result = await this.#requests.ask(info, method, params, call);
      if (method.startsWith('resources/')) this.memory.note(method, params);
      return result;
    } catch (error) {
      if (!(error instanceof SessionForgotten)) throw error;
      if (session === this.#requests.session) this.#reopening ??= this.#replace(reopen, call);
      await this.#reopening;
      return await this.#requests.ask(this.#info, method, params, call);
    } finally {
      if (context !== undefined) this.#requests.running.delete(context);
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
    const told = this.#requests.ask(info, method, params, { ...call, context: undefined });
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
      this.#requests.hear(message, undefined, signal);
      return false;
    };
    if (isStateless(this.#info)) {
      this.#listener ??= createListener({
        clock: this.#options.clock,
        onNotification: this.#options.events.onNotification,
        listen: (params, onNotification, stop) =>
          this.#requests.subscribe(this.#info, params, onNotification, stop),
      });
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#heard = promise;
    const own = {
      clock: this.#options.clock,
      get: (lastEventId: string | undefined) =>
        this.#requests.get(this.#info, lastEventId, signal, hear, resolve).finally(resolve),
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
    this.#requests.subscribe(this.#infoFor(context), params, onNotification, signal, context);

  /** Listens no more, not even in a session that replaces this one. */
  hush(): void {
    this.#hushed = true;
    this.#stopListening.abort(new Error('The session ends'));
    this.#listener?.close();
  }

  /** Ends the session. */
  async end(): Promise<void> {
    this.hush();
    if (this.#requests.session === undefined) return;
    const headers = requestHeaders(this.#info, this.#requests.session, undefined, undefined);
    const { target } = this.#options;
    const ended = exchangeHttp(target, 'DELETE', headers, undefined, AbortSignal.timeout(endMs), () => false);
    await ended.catch(() => undefined);
  }
}
