import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import type { RequestId } from '#mcp/jsonrpc.ts';
import type { Settings } from '../config/settings.ts';
import type { EventIds } from './event-ids.ts';
import { KeptStream, type StreamOf, type StreamRules } from './kept-stream.ts';

export type Found =
  | { readonly kind: 'kept'; readonly stream: KeptStream; readonly cursor: number }
  /** It was one of this session's, and is not here any more. `request`: what it answered, as far as that is known. */
  | { readonly kind: 'lost'; readonly own: boolean; readonly request: RequestId | undefined }
  /** Not made by this agent for this session. */
  | { readonly kind: 'unknown' };

export interface KeptStreamsOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: EventIds;
  readonly settings: Pick<
    Settings,
    | 'keepAliveMs'
    | 'streamRetryMs'
    | 'resumeMs'
    | 'maxStreamEvents'
    | 'maxStreamBytes'
    | 'maxOwnStreamBytes'
    | 'maxStreamBytesPerUser'
    | 'maxStreamBytesInAll'
  >;
}

/** Streams of which something is kept that counts for one limit, in order of age. */
class Share {
  bytes = 0;
  readonly running = new Set<KeptStream>();
  readonly over = new Set<KeptStream>();

  /** As many bytes more of the stream are kept. */
  add(stream: KeptStream, change: number): void {
    this.bytes += change;
    const { bytes, over } = stream;
    if (bytes === 0 || over) this.running.delete(stream);
    else this.running.add(stream);
    if (bytes === 0) this.over.delete(stream);
    else if (over) this.over.add(stream);
  }
}

/** Streams that clients can take up again, and the limits of what is kept for them. */
export class KeptStreams {
  readonly #options: KeptStreamsOptions;
  readonly #rules: StreamRules;
  readonly #streams = new Map<string, KeptStream>();
  readonly #bySession = new Map<string, KeptStream[]>();
  /** Of those of whom something is kept. */
  readonly #byOwner = new Map<string, Share>();
  readonly #all = new Share();
  /** Take back when a stream is forgotten. */
  readonly #deadlines = new Map<KeptStream, () => void>();

  constructor(options: KeptStreamsOptions) {
    const { clock, ids, settings } = options;
    this.#options = options;
    this.#rules = {
      clock,
      ids,
      keepAliveMs: settings.keepAliveMs,
      retryMs: settings.streamRetryMs,
      maxEvents: settings.maxStreamEvents,
      maxBytes: settings.maxStreamBytes,
      maxOwnBytes: settings.maxOwnStreamBytes,
      onBytes: (stream, change) => this.#charge(stream, change),
      onReader: (stream, hasReader) => this.#onReader(stream, hasReader),
      onOver: (stream) => this.#onOver(stream),
    };
  }

  open(of: StreamOf): KeptStream {
    const name = this.#options.random.bytes(9).toString('base64url');
    const stream = new KeptStream(name, of, this.#rules);
    this.#streams.set(name, stream);
    const ofSession = this.#bySession.get(of.session);
    if (ofSession === undefined) this.#bySession.set(of.session, [stream]);
    else ofSession.push(stream);
    this.#wait(stream);
    return stream;
  }

  /** What an event's id of this session leads to. */
  find(session: string, eventId: string): Found {
    const position = this.#options.ids.read(session, eventId);
    if (position === undefined) return { kind: 'unknown' };
    const { stream: name, cursor, own, request } = position;
    const stream = this.#streams.get(name);
    return stream === undefined ? { kind: 'lost', own, request } : { kind: 'kept', stream, cursor };
  }

  /** Forgets a stream; whoever reads it reads on. */
  drop(stream: KeptStream): void {
    if (!this.#streams.delete(stream.name)) return;
    this.#stopWaiting(stream);
    stream.forget();
    const others = this.#bySession.get(stream.session)?.filter((other) => other !== stream) ?? [];
    if (others.length === 0) this.#bySession.delete(stream.session);
    else this.#bySession.set(stream.session, others);
  }

  /** Nobody may come back to a session that ended. */
  endSession(session: string): void {
    for (const stream of [...(this.#bySession.get(session) ?? [])]) this.drop(stream);
  }

  close(): void {
    for (const stream of [...this.#streams.values()]) this.drop(stream);
  }

  /** Calls that go on, whether somebody reads or not. */
  get running(): number {
    let count = 0;
    for (const { request, over } of this.#streams.values()) if (request !== undefined && !over) count += 1;
    return count;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Of the events that are kept. */
  get bytes(): number {
    return this.#all.bytes;
  }

  #onReader(stream: KeptStream, hasReader: boolean): void {
    if (hasReader) this.#stopWaiting(stream);
    else if (this.#streams.has(stream.name)) this.#wait(stream);
    else stream.forget();
  }

  #onOver(stream: KeptStream): void {
    if (!this.#streams.has(stream.name)) return;
    // Whoever comes back to nothing is to hear that the answer is lost.
    if (stream.bytes === 0) this.drop(stream);
    else this.#wait(stream);
  }

  #wait(stream: KeptStream): void {
    this.#stopWaiting(stream);
    const { clock, settings } = this.#options;
    this.#deadlines.set(
      stream,
      clock.after(settings.resumeMs, () => this.drop(stream)),
    );
  }

  #stopWaiting(stream: KeptStream): void {
    this.#deadlines.get(stream)?.();
    this.#deadlines.delete(stream);
  }

  #charge(stream: KeptStream, change: number): void {
    const { maxStreamBytesPerUser, maxStreamBytesInAll } = this.#options.settings;
    const own = this.#byOwner.get(stream.owner) ?? new Share();
    own.add(stream, change);
    this.#all.add(stream, change);
    if (own.bytes === 0) this.#byOwner.delete(stream.owner);
    else this.#byOwner.set(stream.owner, own);
    // What goes to make room makes none for itself.
    if (change <= 0) return;
    this.#shrink(own, maxStreamBytesPerUser, stream);
    this.#shrink(this.#all, maxStreamBytesInAll, stream);
  }

  /**
   * What is over goes first, then the events of what began first. Of a stream that has just ended, what it told before
   * its answer goes ahead of those, and the answer last of all.
   */
  #shrink(share: Share, most: number, grown: KeptStream): void {
    while (share.bytes > most) {
      const over = share.over.values().find((other) => other !== grown);
      const running = share.running.values().next().value;
      if (over !== undefined) this.drop(over);
      else if (grown.over && grown.forgetEarlierEvents()) continue;
      else if (running !== undefined) running.forgetEvents();
      else if (grown.bytes > 0) this.drop(grown);
      else return;
    }
  }
}
