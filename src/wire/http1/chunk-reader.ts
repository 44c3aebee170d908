import { malformed } from './read-head.ts';

/** Reads a body in chunks (RFC 9112 §7.1). */
export interface ChunkReader {
  /** Gives how many bytes follow the end of the body. Throws HttpError `Malformed`. */
  push(bytes: Buffer): number;
  readonly done: boolean;
}

/** Of a line with a size and its extensions, or of a trailer. */
const longestLine = 4096;
const mostTrailers = 64;
const lineFeed = 10;
const carriageReturn = 13;

/** Trailers and extensions are read over. */
export function createChunkReader(onData: (chunk: Buffer) => void): ChunkReader {
  return new Chunks(onData);
}

class Chunks implements ChunkReader {
  readonly #onData: (chunk: Buffer) => void;
  #state: 'size' | 'data' | 'after' | 'trailers' | 'done' = 'size';
  #line = '';
  /** Of the chunk that is being read. */
  #missing = 0;
  #trailers = 0;

  constructor(onData: (chunk: Buffer) => void) {
    this.#onData = onData;
  }

  get done(): boolean {
    return this.#state === 'done';
  }

  push(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length && this.#state !== 'done') {
      at = this.#state === 'data' ? this.#readData(bytes, at) : this.#readLine(bytes, at);
    }
    return bytes.length - at;
  }

  #readData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#missing);
    this.#missing -= end - at;
    if (this.#missing === 0) this.#state = 'after';
    this.#onData(bytes.subarray(at, end));
    return end;
  }

  #readLine(bytes: Buffer, at: number): number {
    const feed = bytes.indexOf(lineFeed, at);
    const end = feed < 0 ? bytes.length : feed;
    this.#line += bytes.toString('latin1', at, end);
    if (this.#line.length > longestLine) throw malformed('a chunk');
    if (feed < 0) return end;
    if (this.#line.charCodeAt(this.#line.length - 1) !== carriageReturn) throw malformed('a chunk');
    const line = this.#line.slice(0, -1);
    this.#line = '';
    this.#takeLine(line);
    return feed + 1;
  }

  #takeLine(line: string): void {
    if (this.#state === 'after') {
      if (line !== '') throw malformed('a chunk');
      this.#state = 'size';
    } else if (this.#state === 'trailers') {
      this.#trailers += 1;
      if (this.#trailers > mostTrailers) throw malformed('its trailers');
      if (line === '') this.#state = 'done';
    } else {
      const size = /^([0-9a-fA-F]{1,12})(?:[ \t]*;.*)?$/.exec(line)?.[1];
      if (size === undefined) throw malformed('the size of a chunk');
      this.#missing = Number.parseInt(size, 16);
      this.#state = this.#missing === 0 ? 'trailers' : 'data';
    }
  }
}
