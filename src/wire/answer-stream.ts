/** The head of an answer from our own agent-server is a few hundred bytes. */
const longestHead = 8 * 1024;
/** A chunk's size line without extensions. */
const longestSizeLine = 16;
const nothing = Buffer.alloc(0);

export interface AnswerReader {
  /** Takes the next bytes of the connection; true once the body is complete. Throws when they are no such answer. */
  push(bytes: Buffer): boolean;
}

/**
 * Reads the body of one HTTP/1.1 answer and gives it piece by piece as it comes. Only what an agent-server sends:
 * status 200 and chunks (RFC 9112 §7.1). By hand and without promises, because a controller holds an answer of every
 * agent open: node:http takes ten times the memory, a generator three times.
 */
export function createAnswerReader(onPiece: (piece: Buffer) => void): AnswerReader {
  return new ChunkedAnswerReader(onPiece);
}

type Expected = 'head' | 'size' | 'data' | 'end of data' | 'nothing';

class ChunkedAnswerReader implements AnswerReader {
  readonly #onPiece: (piece: Buffer) => void;
  #expected: Expected = 'head';
  /** Bytes of a head or line that is not complete. */
  #held: Buffer = nothing;
  /** Bytes of the chunk that are to come. */
  #left = 0;

  constructor(onPiece: (piece: Buffer) => void) {
    this.#onPiece = onPiece;
  }

  push(bytes: Buffer): boolean {
    let rest = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    this.#held = nothing;
    while (rest.length > 0 && this.#expected !== 'nothing') {
      const next = this.#expected === 'data' ? this.#takeData(rest) : this.#takeText(rest);
      if (next === undefined) {
        // A copy: what it is a part of is as large as the connection's reads.
        this.#held = Buffer.from(rest);
        break;
      }
      rest = next;
    }
    return this.#expected === 'nothing';
  }

  #takeData(from: Buffer): Buffer {
    const piece = from.subarray(0, this.#left);
    this.#left -= piece.length;
    if (this.#left === 0) this.#expected = 'end of data';
    this.#onPiece(piece);
    return from.subarray(piece.length);
  }

  /** What follows the head or line that stands at the start; undefined when that is not complete. */
  #takeText(from: Buffer): Buffer | undefined {
    const isHead = this.#expected === 'head';
    const mark = isHead ? '\r\n\r\n' : '\r\n';
    const end = from.indexOf(mark);
    if (end < 0) {
      if (from.length > (isHead ? longestHead : longestSizeLine))
        throw new Error(`no end of the ${isHead ? 'head' : 'size'}`);
      return undefined;
    }
    this.#read(from.toString('latin1', 0, end));
    return from.subarray(end + mark.length);
  }

  #read(text: string): void {
    if (this.#expected === 'head') {
      checkHead(text);
      this.#expected = 'size';
    } else if (this.#expected === 'size') {
      if (!/^[0-9a-fA-F]{1,8}$/.test(text)) throw new Error('a chunk has no size');
      this.#left = Number.parseInt(text, 16);
      this.#expected = this.#left === 0 ? 'nothing' : 'data';
    } else {
      if (text !== '') throw new Error('a chunk has no end');
      this.#expected = 'size';
    }
  }
}

function checkHead(text: string): void {
  const [status = '', ...lines] = text.split('\r\n');
  if (!/^HTTP\/1\.1 200( |$)/.test(status)) throw new Error(`answered "${status.slice(0, 80)}"`);
  if (!lines.some(isChunked)) throw new Error('the answer is no stream');
}

function isChunked(line: string): boolean {
  return /^transfer-encoding:[ \t]*chunked[ \t]*$/i.test(line);
}
