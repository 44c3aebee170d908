import type { Clock } from '#kit/clock.ts';
import { answerOfNobody, type Question } from '#mcp/bridge/questions.ts';
import { latestSessionRevision } from '#mcp/eras.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { CallContext } from '../source.ts';

export interface AskedCallOptions {
  readonly clock: Clock;
  /** Milliseconds after the first question in which others are gathered. */
  readonly gatherMs: number;
  /** Milliseconds for a server to end a call by itself when nobody answers it. */
  readonly graceMs: number;
  /** Something that only a waiting client could have been told. */
  onDropped(what: 'progress' | 'log'): void;
  /** What keys of questions begin with. Default: `question`. */
  readonly keyPrefix?: string;
}

interface OpenQuestion extends Question {
  answer(result: Result): void;
  refuse(error: unknown): void;
}

/**
 * A call to a server with sessions that outlives the requests of the client of 2026-07-28 behind it: the client
 * comes, waits until there is a result or a question, and comes again with answers.
 */
export class AskedCall {
  readonly #options: AskedCallOptions;
  readonly #open = new Map<string, OpenQuestion>();
  readonly #stop = new AbortController();
  /** To be called when it waits for its client. */
  readonly onParked: (() => void) | undefined;
  /** Resolves when there is a result, or an error. */
  readonly ended: Promise<void>;
  #outcome: Promise<Result> | undefined;
  #changed = Promise.withResolvers<void>();
  #client: CallContext | undefined;
  #asked = 0;

  /** `start` sends the call; what the server asks and tells meanwhile goes through the context it is given. */
  constructor(
    base: CallContext,
    as: { readonly session: string; readonly capabilities: CallContext['capabilities'] },
    start: (context: CallContext) => Promise<Result>,
    options: AskedCallOptions,
    onParked?: () => void,
  ) {
    this.#options = options;
    this.onParked = onParked;
    const outcome = start(this.#contextFrom(base, as));
    const ended = () => {
      this.#outcome = outcome;
      this.#tell();
    };
    this.ended = outcome.then(ended, ended);
  }

  /** What is asked and not answered yet. */
  get questions(): ReadonlyMap<string, Question> {
    return this.#open;
  }

  /**
   * The result, or undefined when the server asks something. A client that goes away meanwhile cancels the call.
   * Throws what the call ended with.
   */
  async next(client: CallContext): Promise<Result | undefined> {
    const onAbort = () => this.cancel(client.signal.reason);
    client.signal.addEventListener('abort', onAbort, { once: true });
    if (client.signal.aborted) onAbort();
    this.#client = client;
    try {
      for (;;) {
        client.signal.throwIfAborted();
        if (this.#outcome !== undefined) return await this.#outcome;
        if (this.#open.size === 0 || this.#stop.signal.aborted) await this.#changed.promise;
        else if (await this.#gather()) return undefined;
      }
    } finally {
      this.#client = undefined;
      client.signal.removeEventListener('abort', onAbort);
    }
  }

  /** Resolves when something is asked and the others had time to come too, when the call has ended, or on abort. */
  async untilAsked(signal: AbortSignal): Promise<void> {
    const { promise: aborted, resolve: abort } = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => abort(), { once: true });
    while (!signal.aborted && this.#outcome === undefined && !this.#stop.signal.aborted) {
      if (this.#open.size === 0) await Promise.race([this.#changed.promise, aborted]);
      else if (await this.#gather()) return;
    }
  }

  /** Answers to what was asked under these keys; others are ignored. */
  answer(responses: Readonly<Record<string, Result>>): void {
    for (const [key, question] of [...this.#open]) {
      const response = Object.hasOwn(responses, key) ? responses[key] : undefined;
      if (response !== undefined) question.answer(response);
    }
  }

  /** Nobody will answer: says so to the server, and cancels the call unless it ends by itself. */
  abandon(reason: RpcError): void {
    for (const question of [...this.#open.values()]) {
      const answer = answerOfNobody(question.method);
      if (answer === undefined) question.refuse(reason);
      else question.answer(answer);
    }
    if (this.#outcome !== undefined) return;
    void this.ended.then(this.#options.clock.after(this.#options.graceMs, () => this.cancel(reason)));
  }

  cancel(reason: unknown): void {
    this.#stop.abort(reason);
    this.#tell();
  }

  /** True when there is still something asked after the others had time to come too. */
  async #gather(): Promise<boolean> {
    const done = new AbortController();
    const pause = this.#options.clock.sleep(this.#options.gatherMs, done.signal).catch(() => undefined);
    while (this.#outcome === undefined && !this.#stop.signal.aborted) {
      const waited = await Promise.race([pause.then(() => true), this.#changed.promise.then(() => false)]);
      if (waited) break;
    }
    done.abort(new Error('gathered'));
    return this.#outcome === undefined && !this.#stop.signal.aborted && this.#open.size > 0;
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #ask(method: string, params: Params, signal: AbortSignal): Promise<Result> {
    this.#asked += 1;
    const key = `${this.#options.keyPrefix ?? 'question'}-${this.#asked}`;
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const withdraw = () => reject(signal.reason);
    if (signal.aborted) withdraw();
    signal.addEventListener('abort', withdraw, { once: true });
    this.#open.set(key, { method, params, answer: resolve, refuse: reject });
    this.#tell();
    return promise.finally(() => {
      signal.removeEventListener('abort', withdraw);
      this.#open.delete(key);
    });
  }

  #contextFrom(
    base: CallContext,
    { session, capabilities }: { session: string; capabilities: CallContext['capabilities'] },
  ): CallContext {
    const { onDropped } = this.#options;
    return {
      ...base,
      era: 'sessions',
      revision: latestSessionRevision,
      session,
      capabilities,
      signal: this.#stop.signal,
      anonymous: isAnonymous(base),
      ask: (method, params, signal) => this.#ask(method, params, signal),
      onProgress:
        base.onProgress === undefined
          ? undefined
          : (progress) => {
              if (this.#client?.onProgress === undefined) onDropped('progress');
              else this.#client.onProgress(progress);
            },
      onLog: (...log) => {
        if (this.#client === undefined) onDropped('log');
        else this.#client.onLog(...log);
      },
    };
  }
}

/** Whether it is not known on whose behalf a call is made. */
export function isAnonymous({ claims }: CallContext): boolean {
  return claims === undefined || claims.sub === '';
}

/** Why a call ends whose client did not come back. */
export function nobodyAnswered(): RpcError {
  return new RpcError(errorCodes.internal, 'The client did not answer in time');
}
