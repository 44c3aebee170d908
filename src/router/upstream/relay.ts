import type { ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import type { RouterError } from '../errors.ts';
import type { RouterLimits } from '../limits.ts';
import { pieceBytes, writePieces } from '../write-long.ts';
import type { AgentCall, AnswerHeaders, AnswerSink, Flow, Sender } from './send.ts';

export interface RelayServices {
  readonly sender: Sender;
  readonly clock: Pick<Clock, 'after'>;
  readonly limits: Pick<RouterLimits, 'unreadMs'>;
}

export interface RelayOptions {
  /** Headers for the client, from the agent's. */
  readonly headers: (headers: AnswerHeaders) => Record<string, string | string[]>;
  /** Why an answer with this head does not reach the client. Default: each does. */
  readonly refuse?: (status: number, headers: AnswerHeaders) => RouterError | undefined;
  /** Writes the answer when the agent gave none; not called once its headers went out. */
  readonly fail: (error: RouterError) => void;
  /** Changes the body as it passes, when the headers say that it should. */
  readonly transform?: ((headers: AnswerHeaders) => Transform | undefined) | undefined;
}

/** Takes a body piece by piece. Throws for one that it cannot take; the client's answer ends there. */
export interface Transform {
  /** What of it can be sent already. */
  push(chunk: Buffer): string | Buffer;
  /** What is left at the end. */
  end?(): string | Buffer;
  /** The last of the answer when the body was not taken. Without it the client's connection is broken. */
  refuse?(error: unknown): string;
}

/**
 * Streams the answer of a call to a client: backpressure both ways, a client that goes away ends the call,
 * an agent that breaks off in the middle breaks the client's connection too, so that nobody takes a part
 * for the whole. A client that takes nothing for `limits.unreadMs` is cut off: it holds a connection to the agent.
 */
export function relay(
  services: RelayServices,
  call: AgentCall,
  client: ServerResponse,
  options: RelayOptions,
): void {
  services.sender.send(call, (flow) => new Relay(flow, client, services, options));
}

/** A body of no more bytes waits for its end, which has almost always come along, and goes out with the head at once. */
const smallBytes = 16 * 1024;
const nothing: Buffer = Buffer.alloc(0);
const eventStream = 'text/event-stream';

interface Head {
  readonly status: number;
  readonly headers: Record<string, string | string[]>;
  /** Of the whole body. */
  readonly bytes: number;
}

class Relay implements AnswerSink {
  readonly #flow: Flow;
  readonly #client: ServerResponse;
  readonly #services: RelayServices;
  readonly #options: RelayOptions;
  #transform: Transform | undefined;
  /** Not sent yet. */
  #head: Head | undefined;
  /** The whole body that goes with the head. */
  #body: Buffer | undefined;
  /** Of what goes out in pieces: what is not written yet. */
  #left = nothing;
  /** Nothing more comes from the agent. */
  #over = false;
  /** Takes the deadline back, while the client has something to read. */
  #cancelUnread: (() => void) | undefined;

  constructor(flow: Flow, client: ServerResponse, services: RelayServices, options: RelayOptions) {
    this.#flow = flow;
    this.#client = client;
    this.#services = services;
    this.#options = options;
    // A call waits for many things before it comes here: its client may have gone meanwhile, and closes no second time.
    if (client.destroyed) {
      this.#over = true;
      flow.abort();
      return;
    }
    client.on('close', () => {
      this.#cancelUnread?.();
      if (!this.#over) flow.abort();
    });
  }

  head(status: number, headers: AnswerHeaders): void {
    if (this.#isEnded()) return;
    const refused = this.#options.refuse?.(status, headers);
    if (refused !== undefined) {
      this.#flow.abort();
      this.failed(refused);
      return;
    }
    this.#transform = this.#options.transform?.(headers);
    const passed = this.#options.headers(headers);
    const bytes = Number(passed['content-length'] ?? Number.NaN);
    if (this.#transform !== undefined) delete passed['content-length'];
    else if (bytes <= smallBytes) {
      this.#head = { status, headers: passed, bytes };
      return;
    }
    this.#client.writeHead(status, passed);
    // Who opened a stream waits for its head, and the first event may be long in coming.
    if (String(passed['content-type']).startsWith(eventStream)) this.#client.flushHeaders();
  }

  data(chunk: Buffer): boolean {
    if (this.#transform !== undefined) return this.#change(this.#transform, chunk);
    if (this.#head !== undefined) {
      if (chunk.length === this.#head.bytes) {
        this.#body = chunk;
        return true;
      }
      this.#sendHead(this.#head);
    }
    return this.#write(chunk);
  }

  ended(): void {
    this.#over = true;
    if (this.#client.writableEnded) return;
    const rest = this.#transform?.end === undefined ? '' : this.#tryTo(this.#transform, 'end');
    if (rest === undefined) return;
    if (this.#head !== undefined) this.#sendHead(this.#head);
    // As text, because node puts no bytes into one packet with the head, but text of the same encoding it does.
    if (this.#body !== undefined) this.#client.end(this.#body.toString('latin1'), 'latin1');
    else this.#finish(rest);
  }

  failed(error: RouterError): void {
    this.#over = true;
    if (this.#client.writableEnded) return;
    if (this.#client.headersSent) this.#client.destroy();
    else this.#options.fail(error);
  }

  #sendHead({ status, headers }: Head): void {
    this.#head = undefined;
    if (this.#isEnded()) return;
    this.#client.writeHead(status, headers);
  }

  #change(transform: Transform, chunk: Buffer): boolean {
    const changed = this.#tryTo(transform, 'push', chunk);
    return changed === undefined || changed.length === 0 || this.#write(changed);
  }

  /** Undefined when the transform refused: then both sides have ended. */
  #tryTo(transform: Transform, act: 'push' | 'end', chunk = nothing): string | Buffer | undefined {
    try {
      return act === 'end' ? transform.end?.() : transform.push(chunk);
    } catch (error) {
      this.#over = true;
      this.#flow.abort();
      const last = transform.refuse?.(error);
      if (last === undefined) this.#client.destroy();
      else this.#finish(last);
      return undefined;
    }
  }

  #write(chunk: string | Buffer): boolean {
    if (this.#isEnded() || this.#pass(chunk)) return true;
    if (this.#cancelUnread === undefined) this.#awaitReader();
    return false;
  }

  /** Whether the client takes more at once. */
  #pass(chunk: string | Buffer): boolean {
    if (this.#left.length === 0 && chunk.length <= pieceBytes) return this.#client.write(chunk);
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    const isWaiting = this.#left.length > 0;
    this.#left = isWaiting ? Buffer.concat([this.#left, bytes]) : bytes;
    return !isWaiting && this.#passLeft();
  }

  #passLeft(): boolean {
    this.#left = writePieces(this.#client, this.#left);
    return this.#left.length === 0 && !this.#client.writableNeedDrain;
  }

  /** The last of the body, after all that is not written yet. */
  #finish(last: string | Buffer): void {
    if (this.#left.length === 0 && last.length <= pieceBytes) {
      if (last.length === 0) this.#client.end();
      else this.#client.end(last);
      return;
    }
    this.#write(last);
    if (this.#left.length === 0) this.#client.end();
  }

  #awaitReader(): void {
    const { clock, limits } = this.#services;
    const client = this.#client;
    const cancel = clock.after(limits.unreadMs, () => client.destroy());
    this.#cancelUnread = cancel;
    client.once('drain', () => {
      cancel();
      this.#cancelUnread = undefined;
      if (this.#left.length > 0 && !this.#passLeft()) this.#awaitReader();
      if (this.#left.length > 0) return;
      if (this.#over) client.end();
      else if (this.#cancelUnread === undefined) this.#flow.resume();
    });
  }

  /**
   * True when the client is gone, or the router has ended the answer already, as it ends streams when it stops: the rest
   * is for nobody.
   */
  #isEnded(): boolean {
    if (!this.#client.writableEnded && !this.#client.destroyed) return false;
    this.#flow.abort();
    return true;
  }
}
