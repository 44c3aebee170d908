import type { Readable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Random } from '#kit/random.ts';
import type { CallBinding } from '#wire/binding.ts';
import type { McpContext } from '#wire/claims.ts';
import type { HttpFlow, HttpHandler, HttpHeaders } from '#wire/http1/message.ts';
import type { WireKey } from '#wire/keys.ts';
import { mintInvocation } from '#wire/token.ts';
import { actorOf, type Caller, scopeLimit } from '../caller.ts';
import { RouterError } from '../errors.ts';
import type { RouterKeys } from '../keys.ts';
import type { RouterLimits } from '../limits.ts';
import type { TableSource } from '../sources.ts';
import type { AgentPool, Lane } from './agent-pool.ts';
import type { Pools } from './pools.ts';
import { findReady, isListed, type Ready, type ReadyOptions } from './ready.ts';

/** One request to one agent. */
export interface AgentCall {
  /** `<namespace>/<name>`. */
  readonly agent: string;
  readonly method: 'GET' | 'HEAD' | 'POST' | 'DELETE' | (string & {});
  /** Path and query at the agent-server. */
  readonly path: string;
  /** Already cleaned; the token is added here. */
  readonly headers: Readonly<Record<string, string>>;
  /** A stream is sent once: such a call is never tried again. */
  readonly body?: string | Buffer | Readable | undefined;
  readonly binding: CallBinding;
  readonly caller: Caller;
  readonly mcp?: McpContext | undefined;
  /** Default: calls. */
  readonly lane?: Lane;
  /** Silence, in milliseconds, after which the call has failed. Default: the router's call timeout. 0: never. */
  readonly silenceMs?: number;
  /** How long an agent that is starting is waited for. Default: the router's. */
  readonly readyWaitMs?: number;
  /** uid of the only instance that the call is for. Default: any. */
  readonly instance?: string;
  /** uid of the instance that should have it while that lives: what it goes on with is there. */
  readonly preferred?: string;
  /** Slot of the replica that it is for alone, where replicas have slots. */
  readonly slot?: number;
  /** The same, where the agent has such a replica. */
  readonly slotIfThere?: number;
  /** Slot of the instance that it is for when that one has gone. */
  readonly preferredSlot?: number;
}

/** Takes the answer as it comes. After `failed` or `ended` nothing more is called. */
export interface AnswerSink {
  head(status: number, headers: AnswerHeaders): void;
  /** Returns false when it wants no more until `flow.resume()`. */
  data(chunk: Buffer): boolean;
  ended(): void;
  failed(error: RouterError): void;
}

export type AnswerHeaders = HttpHeaders;

/** The running call, for whoever consumes its answer. */
export interface Flow {
  resume(): void;
  /** Ends the call; the agent sees its connection close, the sink nothing more. */
  abort(): void;
}

export interface Sender {
  /**
   * Sends a call, and once more to a newer instance when the first could not be reached: never after a byte
   * of it was sent. The sink gets everything, failures too; `flow` is there before its first call.
   */
  send(call: AgentCall, sink: (flow: Flow) => AnswerSink): void;
}

export interface SenderOptions {
  readonly tables: TableSource;
  readonly keys: RouterKeys;
  readonly pools: Pools;
  readonly limits: RouterLimits;
  readonly clock: Clock;
  readonly random: Random;
}

export function createSender(options: SenderOptions): Sender {
  return {
    send(call, makeSink) {
      new Attempt(options, call, makeSink).start();
    },
  };
}

/** One call on its way; the handler of its request too, because objects and closures of a call's own add up. */
class Attempt implements Flow, HttpHandler {
  readonly #options: SenderOptions;
  readonly #call: AgentCall;
  readonly #sink: AnswerSink;
  #ready: Ready | undefined;
  #pool: AgentPool | undefined;
  #request: HttpFlow | undefined;
  #sent = false;
  #retried = false;
  #over = false;
  #interim = 0;

  constructor(options: SenderOptions, call: AgentCall, makeSink: (flow: Flow) => AnswerSink) {
    this.#options = options;
    this.#call = call;
    this.#sink = makeSink(this);
  }

  /** Nothing is waited for when an instance is ready and a connection to it was made before. */
  start(): void {
    const found = findReady(this.#call.agent, this.#wanted(undefined));
    if (found instanceof Promise)
      found.then((ready) => this.#dispatchLate(ready)).catch((error) => this.#fail(error));
    else this.#dispatch(found);
  }

  resume(): void {
    this.#request?.resume();
  }

  abort(): void {
    this.#over = true;
    if (this.#request === undefined) this.#pool?.drop(this.#call.lane ?? 'calls', this);
    else this.#request.abort();
  }

  started(request: HttpFlow): void {
    this.#request = request;
    this.#sent = true;
    if (this.#over) request.abort();
  }

  /** Nobody takes them, so that nothing else would ever end a stream of them. */
  interim(): void {
    this.#interim += 1;
    if (this.#over || this.#interim <= this.#options.limits.interimAnswers) return;
    const agents = [this.#ready?.target.name ?? ''];
    const message = `Agent '${agents[0]}' gave more than ${this.#options.limits.interimAnswers} interim answers.`;
    this.#fail(new RouterError('AgentAnswer', message, { agents }));
    this.#request?.abort();
  }

  head(status: number, headers: AnswerHeaders): void {
    this.#sink.head(status, headers);
  }

  data(chunk: Buffer): boolean {
    return this.#over || this.#sink.data(chunk);
  }

  ended(): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink.ended();
  }

  failed(error: Error): void {
    if (this.#ready === undefined) this.#fail(error);
    else if (codeOf(error) === 'Unsendable') this.#fail(unsendable(error));
    else this.#lost(this.#ready, error);
  }

  #wanted(except: Ready['endpoint'] | undefined): ReadyOptions {
    const { tables, clock, limits } = this.#options;
    const { instance, preferred, preferredSlot, slot, slotIfThere, mcp, readyWaitMs } = this.#call;
    return {
      tables,
      clock,
      waitMs: readyWaitMs ?? limits.readyWaitMs,
      affinity: mcp?.session,
      preferred,
      preferredSlot,
      only: instance,
      slot,
      slotIfThere,
      except,
    };
  }

  /** The table may be another one by now: what it does not list any more has no connections, and gets none. */
  #dispatchLate(ready: Ready): void {
    if (this.#over) return;
    if (isListed(this.#call.agent, ready, this.#wanted(undefined))) this.#dispatch(ready);
    else this.start();
  }

  #dispatch(ready: Ready): void {
    if (this.#over) return;
    this.#ready = ready;
    try {
      const pool = this.#options.pools.of(ready.target, ready.endpoint);
      const key = pool.signingKey();
      if (key !== undefined) this.#sendBy(pool, key, ready);
      else this.#prove(pool, ready);
    } catch (error) {
      this.#fail(error);
    }
  }

  #prove(pool: AgentPool, ready: Ready): void {
    pool
      .prove()
      .then(
        () => this.#dispatchLate(ready),
        (error) => this.#lost(ready, error),
      )
      .catch((error) => this.#fail(error));
  }

  #sendBy(pool: AgentPool, key: WireKey, ready: Ready): void {
    const { method, path, headers, body = null, silenceMs } = this.#call;
    const request = {
      method,
      path,
      headers: withToken(headers, this.#mint(key, ready)),
      body,
      silenceMs: silenceMs ?? this.#options.limits.callTimeoutMs,
    };
    this.#pool = pool;
    pool.send(this.#call.lane ?? 'calls', request, this);
  }

  #mint(key: WireKey, { target, endpoint }: Ready): string {
    const { keys, clock, random } = this.#options;
    const { caller, binding, mcp } = this.#call;
    const [delegation] = keys.delegation;
    return mintInvocation(key, {
      agent: target.identity,
      instance: endpoint.uid,
      caller: caller.principal,
      user: caller.user,
      hop: caller.hop,
      scopes: scopeLimit(caller),
      tools: caller.tools,
      actor: actorOf(caller),
      call: binding,
      now: clock.now(),
      random,
      ...(mcp !== undefined && { mcp }),
      ...(delegation !== undefined && { delegation }),
    });
  }

  /** A call of which nothing was sent is worth a second try at an instance that took the place of this one. */
  #lost(ready: Ready, error: unknown): void {
    if (this.#over) return;
    const streamed = typeof this.#call.body === 'object' && !Buffer.isBuffer(this.#call.body);
    if (this.#sent || this.#retried || streamed || codeOf(error) === 'Silent') {
      this.#fail(this.#translate(ready, error));
      return;
    }
    this.#retried = true;
    Promise.resolve(findReady(this.#call.agent, this.#wanted(ready.endpoint))).then(
      (next) => this.#dispatchLate(next),
      () => this.#fail(this.#translate(ready, error)),
    );
  }

  #translate({ target }: Ready, error: unknown): RouterError {
    const agents = [target.name];
    if (!this.#sent) {
      const why =
        codeOf(error) === 'Silent' ? 'is busy with other calls; this one was not sent' : 'cannot be reached';
      const message = `Agent '${target.name}' ${why}. Try again in a moment.`;
      return new RouterError('AgentUnavailable', message, { cause: error, agents });
    }
    if (codeOf(error) === 'Silent') {
      const message = `Agent '${target.name}' did not answer in time.`;
      return new RouterError('AgentTimeout', message, { cause: error, agents });
    }
    const message = `The connection to agent '${target.name}' was lost; the call may have run.`;
    return new RouterError('AgentLost', message, { cause: error, agents });
  }

  #fail(error: unknown): void {
    if (this.#over) return;
    this.#over = true;
    this.#sink.failed(
      error instanceof RouterError ? error : new RouterError('AgentLost', messageOf(error), { cause: error }),
    );
  }
}

/** No instance is to blame, so none is waited for. */
function unsendable(error: Error): RouterError {
  const message = `This request cannot be sent to an agent: ${messageOf(error)}. Nothing of it was sent; change its method, path or headers.`;
  return new RouterError('RequestInvalid', message, { cause: error });
}

/** name, value, name, value. */
function withToken(headers: Readonly<Record<string, string>>, token: string): string[] {
  const flat: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat.push(name, value);
  }
  flat.push('authorization', `Bearer ${token}`);
  return flat;
}
