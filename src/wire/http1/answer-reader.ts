import { type ChunkReader, createChunkReader } from './chunk-reader.ts';
import { type AnswerHead, malformed, readHead } from './read-head.ts';

export interface AnswerParts {
  interim(): void;
  head(head: AnswerHead): void;
  data(chunk: Buffer): void;
}

/** Longest head of an answer, in bytes. */
const longestHead = 16 * 1024;
const empty = Buffer.alloc(0);
const blankLine = '\r\n\r\n';

/** Reads one answer out of what arrives on a connection. */
export class AnswerReader {
  readonly #method: string;
  readonly #parts: AnswerParts;
  #held: Buffer = empty;
  #head: AnswerHead | undefined;
  /** Of a body with a length. */
  #missing = 0;
  #chunks: ChunkReader | undefined;
  #done = false;

  constructor(method: string, parts: AnswerParts) {
    this.#method = method;
    this.#parts = parts;
  }

  /** Undefined until the head is there. */
  get head(): AnswerHead | undefined {
    return this.#head;
  }

  get done(): boolean {
    return this.#done;
  }

  /** Takes what arrived. Throws HttpError `Malformed`, also for bytes behind the end of the answer. */
  push(chunk: Buffer): void {
    let rest = chunk;
    while (this.#head === undefined) {
      const after = this.#readHead(rest);
      if (after === undefined) return;
      rest = after;
    }
    if (rest.length > 0) this.#readBody(this.#head, rest);
  }

  /** The peer has ended the connection. True when the answer ends with it. */
  end(): boolean {
    if (this.#done) return true;
    this.#done = this.#head?.body.kind === 'close';
    return this.#done;
  }

  /** What follows the head; undefined while it is not complete. Interim answers are passed over. */
  #readHead(chunk: Buffer): Buffer | undefined {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    // Of a small answer, as almost every one is, this is cheaper than to search its bytes.
    const text = bytes.toString('latin1', 0, longestHead + blankLine.length);
    const end = text.indexOf(blankLine);
    if (end < 0 && bytes.length > longestHead) throw malformed('a head that is too long');
    if (end < 0) {
      this.#held = bytes;
      return undefined;
    }
    this.#held = empty;
    const head = readHead(text.slice(0, end), this.#method);
    if (head.status === 101) throw malformed('another protocol, which nobody asked for');
    const rest = bytes.subarray(end + blankLine.length);
    if (head.status < 200) {
      this.#parts.interim();
      return rest.length === 0 ? undefined : rest;
    }
    this.#begin(head);
    return rest;
  }

  #begin(head: AnswerHead): void {
    this.#head = head;
    const { body } = head;
    if (body.kind === 'length') {
      this.#missing = body.bytes;
      this.#done = body.bytes === 0;
    } else if (body.kind === 'chunked') this.#chunks = createChunkReader(this.#parts.data.bind(this.#parts));
    this.#parts.head(head);
  }

  #readBody({ body }: AnswerHead, rest: Buffer): void {
    if (this.#done) throw malformed('bytes behind its end');
    if (body.kind === 'close') this.#parts.data(rest);
    else if (this.#chunks !== undefined) {
      const after = this.#chunks.push(rest);
      this.#done = this.#chunks.done;
      if (after > 0) throw malformed('bytes behind its end');
    } else if (rest.length > this.#missing) throw malformed('bytes behind its end');
    else {
      this.#missing -= rest.length;
      this.#done = this.#missing === 0;
      this.#parts.data(rest);
    }
  }
}
