import type { ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { errorCodes, failureOf, type RequestId } from '#mcp/jsonrpc.ts';
import { encodeEvent, sseHeaders, sseKeepAlive } from '#mcp/sse.ts';
import type { EventIds } from './event-ids.ts';

/** Whose a stream is and what it answers. */
export interface StreamOf {
  /** Key of the session. */
  readonly session: string;
  /** Whose limit its events count for. */
  readonly owner: string;
  /** Undefined: the session's own stream. */
  readonly request: RequestId | undefined;
  /** The client knows events without data, by which it can come back before it was told anything. */
  readonly primes: boolean;
}

export interface StreamRules {
  readonly clock: Clock;
  readonly ids: EventIds;
  readonly keepAliveMs: number;
  /** Pause that clients are told to make before they come back, in milliseconds. */
  readonly retryMs: number;
  /** Events and bytes of one stream that are kept; the oldest are forgotten. */
  readonly maxEvents: number;
  readonly maxBytes: number;
  /** Bytes where it is a session's own. */
  readonly maxOwnBytes: number;
  /** What is kept has grown or shrunk by so many bytes. */
  readonly onBytes: (stream: KeptStream, change: number) => void;
  /** Nobody reads it from now on, or somebody does again. */
  readonly onReader: (stream: KeptStream, hasReader: boolean) => void;
  /** Its last event was told. */
  readonly onOver: (stream: KeptStream) => void;
}

interface KeptEvent {
  readonly cursor: number;
  readonly json: string;
  readonly bytes: number;
}

/** Bytes that an event takes beside its own. */
const eventOverhead = 96;

/**
 * A stream to a client with a session that outlives its connection: what it tells is kept, so that whoever comes back
 * with an event's id is told the rest, by whichever way.
 */
export class KeptStream implements StreamOf {
  readonly name: string;
  readonly session: string;
  readonly owner: string;
  readonly request: RequestId | undefined;
  readonly primes: boolean;
  readonly #rules: StreamRules;
  #events: KeptEvent[] = [];
  #bytes = 0;
  #last = 0;
  #reader: ServerResponse | undefined;
  #cancelKeepAlive = () => {};
  #over = false;
  #forgotten = false;
  #gone = false;
  #onGone: (() => void)[] | undefined;

  constructor(name: string, { session, owner, request, primes }: StreamOf, rules: StreamRules) {
    this.name = name;
    this.session = session;
    this.owner = owner;
    this.request = request;
    this.primes = primes;
    this.#rules = rules;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Nothing more will be told. */
  get over(): boolean {
    return this.#over;
  }

  get hasReader(): boolean {
    return this.#reader !== undefined;
  }

  /** Answers with what was told after `cursor`, and with what will be. Whoever read it before reads no more. */
  attach(response: ServerResponse, cursor: number): void {
    this.#reader?.end();
    this.#release();
    response.writeHead(200, sseHeaders);
    response.flushHeaders();
    this.#reader = response;
    this.#rules.onReader(this, true);
    response.once('close', () => {
      if (this.#reader === response) this.#release();
    });
    const missed = this.#events.filter((event) => event.cursor > cursor);
    const first = this.primes && !this.#over ? this.#priming(cursor) : '';
    const text = first + missed.map((event) => this.#encode(event.cursor, event.json)).join('');
    if (text !== '') response.write(text);
    if (this.#over) this.#endReader();
    else this.#keepAlive();
  }

  /** Tells a message, as JSON text. False when nobody can hear it any more. */
  send(json: string): boolean {
    if (this.#over || this.#gone) return false;
    this.#tell(json, false);
    return true;
  }

  /** The last message, the answer to the request. */
  finish(json: string): void {
    if (this.#over || this.#gone) return;
    this.#over = true;
    this.#tell(json, true);
    this.#endReader();
    this.#rules.onOver(this);
  }

  /** Ends the connection, not the stream: the client is to come back for the rest after a while, if it knows how. */
  pause(retryMs = this.#rules.retryMs): void {
    if (!this.primes) return;
    this.#reader?.write(this.#priming(this.#last, retryMs));
    this.#endReader();
  }

  /** Ends the connection. */
  close(): void {
    this.#endReader();
  }

  /** Calls back when nobody is expected any more, and the stream is not over. */
  whenGone(listener: () => void): void {
    if (this.#gone) listener();
    else if (this.#onGone === undefined) this.#onGone = [listener];
    else this.#onGone.push(listener);
  }

  /** Nobody may come back. Who reads it reads on. */
  forget(): void {
    this.forgetEvents();
    this.#forgotten = true;
    if (this.#reader !== undefined || this.#gone) return;
    this.#gone = true;
    const listeners = this.#onGone?.splice(0) ?? [];
    if (!this.#over) for (const listener of listeners) listener();
  }

  forgetEvents(): void {
    this.#keep([]);
  }

  /** All but the last, which is the answer when the stream is over. False when there are no others. */
  forgetEarlierEvents(): boolean {
    if (this.#events.length < 2) return false;
    this.#keep(this.#events.slice(-1));
    return true;
  }

  #keep(events: KeptEvent[]): void {
    const before = this.#bytes;
    this.#events = events;
    this.#bytes = events.reduce((sum, { bytes }) => sum + bytes, 0);
    if (this.#bytes < before) this.#rules.onBytes(this, this.#bytes - before);
  }

  #tell(json: string, isLast: boolean): void {
    this.#last += 1;
    this.#reader?.write(this.#encode(this.#last, json));
    if (this.#forgotten) return;
    const { maxEvents } = this.#rules;
    const maxBytes = this.#maxBytes;
    const before = this.#bytes;
    const kept = this.#sized(json, isLast);
    if (kept !== undefined) {
      this.#events.push(kept);
      this.#bytes += kept.bytes;
    }
    while (this.#events.length > maxEvents || this.#bytes > maxBytes) {
      this.#bytes -= this.#events.shift()?.bytes ?? 0;
    }
    this.#rules.onBytes(this, this.#bytes - before);
  }

  get #maxBytes(): number {
    const { maxBytes, maxOwnBytes } = this.#rules;
    return this.request === undefined ? maxOwnBytes : maxBytes;
  }

  /** In the place of an answer that is too long to be kept, an error; of other messages, nothing. */
  #sized(json: string, isLast: boolean): KeptEvent | undefined {
    const cursor = this.#last;
    const maxBytes = this.#maxBytes;
    const bytes = Buffer.byteLength(json) + eventOverhead;
    if (bytes <= maxBytes) return { cursor, json, bytes };
    if (this.request === undefined || !isLast) return undefined;
    const text = `The answer is longer than ${maxBytes} bytes and was not kept for a client that comes back`;
    const failure = JSON.stringify(failureOf(this.request, errorCodes.internal, text));
    return { cursor, json: failure, bytes: failure.length + eventOverhead };
  }

  #encode(cursor: number, json: string): string {
    return `event: message\nid: ${this.#idOf(cursor)}\ndata: ${json}\n\n`;
  }

  #priming(cursor: number, retry = this.#rules.retryMs): string {
    return encodeEvent({ id: this.#idOf(cursor), retry, data: '' });
  }

  #idOf(cursor: number): string {
    const { name: stream, session, request } = this;
    return this.#rules.ids.make(session, { stream, cursor, request, own: request === undefined });
  }

  #keepAlive(): void {
    this.#cancelKeepAlive = this.#rules.clock.after(this.#rules.keepAliveMs, () => {
      this.#reader?.write(sseKeepAlive);
      this.#keepAlive();
    });
  }

  #endReader(): void {
    this.#reader?.end();
    this.#release();
  }

  #release(): void {
    if (this.#reader === undefined) return;
    this.#cancelKeepAlive();
    this.#reader = undefined;
    this.#rules.onReader(this, false);
  }
}
