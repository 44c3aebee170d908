import type { Readable } from 'node:stream';

/** One request on a kept-alive HTTP/1.1 connection. */
export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  /** name, value, name, value; without those that say how the message is framed, but for a length of a stream. */
  readonly headers: readonly string[];
  readonly body: string | Buffer | Readable | null;
  /** Silence of the peer, in milliseconds, after which the request has failed. 0: never. */
  readonly silenceMs: number;
}

export type HttpHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The running request, for whoever takes its answer. */
export interface HttpFlow {
  /** After `data` said false. */
  resume(): void;
  /** Ends the request and its connection; nothing more is called. */
  abort(): void;
}

/** Takes the answer as it comes. After `ended` or `failed` nothing more is called. */
export interface HttpHandler {
  /** Called once, right before the first byte goes out. */
  started(flow: HttpFlow): void;
  /** An interim answer (status 1xx) came and was passed over. */
  interim(): void;
  head(status: number, headers: HttpHeaders): void;
  /** Returns false when it wants no more until `flow.resume()`; what has arrived already comes all the same. */
  data(chunk: Buffer): boolean;
  ended(): void;
  failed(error: Error): void;
}

export type HttpProblem =
  /** The request cannot be written as HTTP; nothing of it was sent. */
  | 'Unsendable'
  /** The peer was silent for too long. */
  | 'Silent'
  /** The connection ended before the answer did. */
  | 'Broken'
  /** The answer is not HTTP as RFC 9112 has it. */
  | 'Malformed'
  /** The pool takes no requests any more. */
  | 'Closed';

export class HttpError extends Error {
  readonly code: HttpProblem;

  constructor(code: HttpProblem, message: string) {
    super(message);
    this.name = 'HttpError';
    this.code = code;
  }
}
