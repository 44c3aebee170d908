import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { messageOf } from '#kit/errors.ts';
import { AnswerReader } from './answer-reader.ts';
import { HttpError, type HttpFlow, type HttpHandler, type HttpRequest } from './message.ts';
import type { AnswerHead } from './read-head.ts';
import { sendBody } from './send-body.ts';
import { writeHead } from './write-request.ts';

export interface ConnectionOptions {
  /** Connected, without listeners, with nothing in flight. */
  readonly socket: Socket;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Told when it can take the next request. */
  readonly onIdle: (connection: Connection) => void;
  /** Told once, when it can take no more. */
  readonly onGone: (connection: Connection) => void;
}

/** Longest time, in milliseconds, that an idle connection is believed in where the peer does not say less. */
const longestIdleMs = 30_000;
/** Before the peer would close it: what is sent in that moment is lost. */
const marginMs = 1_000;

/** One kept-alive connection: one request at a time, none on top of another. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #socket: Socket;
  #running: Running | undefined;
  /** It has taken a request before. */
  used = false;
  #gone = false;
  #closing = false;
  /** Monotonic time until which an idle one may take a request. */
  #goodUntil: number;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { socket } = options;
    this.#socket = socket;
    this.#goodUntil = options.now() + longestIdleMs;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('end', () => this.#onEnd());
    socket.on('error', (error) => this.destroy(broken(error)));
    socket.on('close', () => this.destroy(broken(undefined)));
    socket.resume();
  }

  /** True when an idle connection is still worth a request. */
  isFresh(): boolean {
    return !this.#gone && this.#socket.writable && this.#options.now() < this.#goodUntil;
  }

  /** Undefined while it is idle. */
  get silenceMs(): number | undefined {
    return this.#running?.request.silenceMs;
  }

  /** Takes no request after the one that runs; ends at once when none does. */
  close(): void {
    this.#closing = true;
    if (this.#running === undefined) this.destroy(broken(undefined));
  }

  destroy(error: HttpError): void {
    if (this.#gone) return;
    this.#gone = true;
    const running = this.#running;
    this.#running = undefined;
    this.#socket.destroy();
    this.#options.onGone(this);
    running?.fail(error);
  }

  /** Ends what has been silent for too long. */
  look(): void {
    const running = this.#running;
    if (running?.isSilent(this.#options.now())) this.destroy(new HttpError('Silent', 'no answer in time'));
  }

  /** Only an idle one takes a request; what becomes of it the handler is told. */
  send(request: HttpRequest, handler: HttpHandler): void {
    const running = new Running(request, handler, this.#options.now, this.#socket, () =>
      this.#abort(running),
    );
    let written: ReturnType<typeof writeHead>;
    try {
      written = writeHead(request);
    } catch (error) {
      this.#options.onIdle(this);
      handler.failed(error as Error);
      return;
    }
    this.#running = running;
    this.used = true;
    handler.started(running);
    if (this.#running !== running) return;
    running.wrote = true;
    this.#write(running, written);
  }

  #write(running: Running, { text, framing }: ReturnType<typeof writeHead>): void {
    const { body } = running.request;
    const socket = this.#socket;
    if (body === null) socket.write(text, 'latin1');
    else if (typeof body === 'string' && framing.kind === 'length' && framing.bytes === body.length)
      socket.write(text + body, 'latin1');
    else if (typeof body === 'string' || Buffer.isBuffer(body)) {
      socket.cork();
      socket.write(text, 'latin1');
      socket.write(body);
      socket.uncork();
    } else {
      socket.write(text, 'latin1');
      this.#stream(running, body, framing.kind === 'length' ? framing.bytes : undefined);
    }
  }

  #stream(running: Running, body: Readable, bytes: number | undefined): void {
    running.sending = true;
    const stop = sendBody(body, this.#socket, {
      bytes,
      progress: () => running.touch(),
      done: (error) => {
        running.sending = false;
        if (error !== undefined) this.#fail(running, new HttpError('Broken', error));
      },
    });
    running.stopSending = stop;
  }

  #fail(running: Running, error: HttpError): void {
    if (this.#running === running) this.destroy(error);
  }

  #abort(running: Running): void {
    this.#running = undefined;
    if (running.wrote) this.destroy(broken(undefined));
    else this.#options.onIdle(this);
  }

  #onData(chunk: Buffer): void {
    const running = this.#running;
    if (running === undefined) {
      this.destroy(broken(undefined));
      return;
    }
    try {
      running.take(chunk);
    } catch (error) {
      this.#fail(running, error instanceof HttpError ? error : new HttpError('Malformed', messageOf(error)));
      return;
    }
    if (running.done && this.#running === running) this.#finish(running);
  }

  #onEnd(): void {
    const running = this.#running;
    if (running?.endedByClose() === true) this.#finish(running);
    else this.destroy(broken(undefined));
  }

  #finish(running: Running): void {
    this.#running = undefined;
    const reusable = running.head?.keepAlive === true && !running.sending && !this.#closing;
    running.finish();
    const idleMs = reusable ? idleTime(running.head) : 0;
    if (idleMs <= 0) {
      this.destroy(broken(undefined));
      return;
    }
    this.#goodUntil = this.#options.now() + idleMs;
    if (running.paused) this.#socket.resume();
    this.#options.onIdle(this);
  }
}

function idleTime(head: AnswerHead | undefined): number {
  const said = head?.keepAliveSeconds;
  return said === undefined ? longestIdleMs : Math.min(longestIdleMs, said * 1000 - marginMs);
}

function broken(error: Error | undefined): HttpError {
  return new HttpError('Broken', error === undefined ? 'the connection ended' : messageOf(error));
}

/** The request that a connection has now. */
class Running implements HttpFlow {
  readonly request: HttpRequest;
  readonly #handler: HttpHandler;
  readonly #reader: AnswerReader;
  readonly #now: () => number;
  readonly #socket: Socket;
  readonly #onAbort: () => void;
  /** Nobody is told more, and its flow does nothing: the connection may have another request by now. */
  #over = false;
  #at: number;
  paused = false;
  /** Something of it went out. */
  wrote = false;
  /** The body is still on its way out. */
  sending = false;
  stopSending: (() => void) | undefined;

  constructor(
    request: HttpRequest,
    handler: HttpHandler,
    now: () => number,
    socket: Socket,
    onAbort: () => void,
  ) {
    this.request = request;
    this.#handler = handler;
    this.#now = now;
    this.#socket = socket;
    this.#onAbort = onAbort;
    this.#at = now();
    this.#reader = new AnswerReader(request.method, {
      interim: () => {
        if (!this.#over) handler.interim();
      },
      head: ({ status, headers }) => {
        if (!this.#over) handler.head(status, headers);
      },
      data: (chunk) => this.#data(chunk),
    });
  }

  get head(): AnswerHead | undefined {
    return this.#reader.head;
  }

  get done(): boolean {
    return this.#reader.done;
  }

  take(chunk: Buffer): void {
    this.touch();
    this.#reader.push(chunk);
  }

  touch(): void {
    this.#at = this.#now();
  }

  endedByClose(): boolean {
    return this.#reader.end();
  }

  /** A reader that wants no more, and a body that still flows, are no silence of the peer. */
  isSilent(now: number): boolean {
    const { silenceMs } = this.request;
    if (silenceMs === 0 || this.paused || (this.sending && !this.#socket.writableNeedDrain)) return false;
    return now - this.#at >= silenceMs;
  }

  finish(): void {
    this.stopSending?.();
    if (this.#over) return;
    this.#over = true;
    this.#handler.ended();
  }

  fail(error: Error): void {
    this.stopSending?.();
    if (this.#over) return;
    this.#over = true;
    this.#handler.failed(error);
  }

  resume(): void {
    if (!this.paused || this.#over) return;
    this.paused = false;
    this.touch();
    this.#socket.resume();
  }

  abort(): void {
    if (this.#over) return;
    this.#over = true;
    this.stopSending?.();
    if (!this.done) this.#onAbort();
  }

  #data(chunk: Buffer): void {
    if (this.#over || this.#handler.data(chunk) || this.paused) return;
    this.paused = true;
    this.#socket.pause();
  }
}
