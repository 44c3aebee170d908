/** What the first bytes of a connection say about the server that they are for. */
export type Opening =
  /** Not decided yet. */
  | { readonly type: 'more' }
  /** Not TLS: nothing is known. */
  | { readonly type: 'other' }
  /** A ClientHello; `serverName` is undefined when it names none. */
  | { readonly type: 'hello'; readonly serverName: string | undefined }
  /** It begins like TLS and is none that a server would understand in one way only. */
  | { readonly type: 'malformed' };

const handshakeRecord = 22;
const clientHello = 1;
const serverNameExtension = 0;
const hostName = 0;
/** Far more than any client sends, post-quantum keys and all. */
export const maxHelloBytes = 16_384;
/** Clients send one; some that fear being read on their way, a few. */
const maxRecords = 32;

/** Reads the server name (RFC 6066, section 3) of a ClientHello, which may come in any number of TLS records. Pure. */
export function readOpening(bytes: Buffer): Opening {
  if (bytes.length === 0) return { type: 'more' };
  if (bytes[0] !== handshakeRecord) return { type: 'other' };
  try {
    const message = handshakeOf(bytes);
    if (message !== undefined) return { type: 'hello', serverName: serverNameOf(message) };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return { type: 'malformed' };
  }
  return bytes.length > maxHelloBytes ? { type: 'malformed' } : { type: 'more' };
}

class Malformed extends Error {}

/** The body of the first handshake message, put together from its records; undefined while some is missing. */
function handshakeOf(bytes: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  let rest = bytes;
  // What follows a complete one, early data for instance, is not looked at: it depends on how the bytes were cut.
  for (let there = 0, end = helloEnd(parts); rest.length >= 5 && there < end; end = helloEnd(parts)) {
    if (rest[0] !== handshakeRecord || rest[1] !== 3 || parts.length >= maxRecords) throw new Malformed();
    const size = rest.readUInt16BE(3);
    if (size === 0) throw new Malformed();
    const part = rest.subarray(5, 5 + size);
    parts.push(part);
    there += part.length;
    rest = rest.subarray(5 + size);
  }
  const message = Buffer.concat(parts);
  if (message.length > 0 && message[0] !== clientHello) throw new Malformed();
  const end = helloEnd(parts);
  return message.length < end ? undefined : message.subarray(4, end);
}

/** Bytes of the message with its head, as far as that is known. */
function helloEnd(parts: readonly Buffer[]): number {
  const head = Buffer.concat(parts.map((part) => part.subarray(0, 4))).subarray(0, 4);
  return head.length < 4 ? Number.POSITIVE_INFINITY : 4 + head.readUIntBE(1, 3);
}

function serverNameOf(message: Buffer): string | undefined {
  const hello = new Fields(message);
  hello.skip(2 + 32);
  hello.list(1);
  hello.list(2);
  hello.list(1);
  if (hello.isOver) return undefined;
  const extensions = new Fields(hello.list(2));
  if (!hello.isOver) throw new Malformed();
  let found: string | undefined;
  while (!extensions.isOver) {
    const kind = extensions.number(2);
    const body = extensions.list(2);
    if (kind !== serverNameExtension) continue;
    // Two of them: which one counts is the server's choice.
    if (found !== undefined) throw new Malformed();
    found = soleName(body);
  }
  return found;
}

function soleName(body: Buffer): string {
  const outer = new Fields(body);
  const names = new Fields(outer.list(2));
  if (names.number(1) !== hostName) throw new Malformed();
  const name = names.list(2).toString('latin1');
  if (!names.isOver || !outer.isOver || name === '') throw new Malformed();
  return name;
}

/** Reads numbers and vectors of TLS (RFC 8446, section 3) one after the other. */
class Fields {
  #rest: Buffer;

  constructor(bytes: Buffer) {
    this.#rest = bytes;
  }

  get isOver(): boolean {
    return this.#rest.length === 0;
  }

  skip(size: number): void {
    this.#take(size);
  }

  number(size: number): number {
    return this.#take(size).readUIntBE(0, size);
  }

  /** A vector whose length is a number of `size` bytes. */
  list(size: number): Buffer {
    return this.#take(this.number(size));
  }

  #take(size: number): Buffer {
    if (this.#rest.length < size) throw new Malformed();
    const taken = this.#rest.subarray(0, size);
    this.#rest = this.#rest.subarray(size);
    return taken;
  }
}
