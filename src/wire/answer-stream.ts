import type { Readable } from 'node:stream';

/** The head of an answer from our own agent-server is a few hundred bytes. */
const longestHead = 8 * 1024;
/** A chunk's size line without extensions. */
const longestSizeLine = 16;

/**
 * The body of one HTTP/1.1 answer, piece by piece as it comes, from a socket on which the request was just written.
 * Only what an agent-server sends: status 200 and chunks (RFC 9112 §7.1); throws for anything else, and when the
 * socket ends before the answer does. Read by hand, because node:http takes three times the memory for each answer
 * that stays open, and a controller holds one of every agent.
 */
export async function* readAnswerBody(socket: Readable): AsyncGenerator<Buffer, void> {
  const reader = createReader(socket);
  try {
    let rest = await readHead(reader);
    for (;;) {
      const line = await takeLine(rest, reader);
      const size = /^[0-9a-fA-F]{1,8}$/.test(line.text) ? Number.parseInt(line.text, 16) : Number.NaN;
      if (Number.isNaN(size)) throw new Error('a chunk has no size');
      if (size === 0) return;
      rest = line.rest;
      for (let left = size; left > 0; ) {
        if (rest.length === 0) rest = await reader.next();
        const piece = rest.subarray(0, left);
        left -= piece.length;
        rest = rest.subarray(piece.length);
        yield piece;
      }
      const end = await takeLine(rest, reader);
      if (end.text !== '') throw new Error('a chunk has no end');
      rest = end.rest;
    }
  } finally {
    reader.release();
  }
}

/** Bytes that follow the head. */
async function readHead(reader: Reader): Promise<Buffer> {
  let received: Buffer = await reader.next();
  for (;;) {
    const end = received.indexOf('\r\n\r\n');
    if (end >= 0) {
      const [status = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n');
      if (!/^HTTP\/1\.1 200( |$)/.test(status)) throw new Error(`answered "${status.slice(0, 80)}"`);
      if (!lines.some(isChunked)) throw new Error('the answer is no stream');
      return received.subarray(end + 4);
    }
    if (received.length > longestHead) throw new Error('the head of the answer is too long');
    received = Buffer.concat([received, await reader.next()]);
  }
}

function isChunked(line: string): boolean {
  return /^transfer-encoding:[ \t]*chunked[ \t]*$/i.test(line);
}

/** A line, and the bytes that follow it. */
async function takeLine(
  from: Buffer,
  reader: Reader,
): Promise<{ readonly text: string; readonly rest: Buffer }> {
  let held = from;
  for (;;) {
    const end = held.indexOf('\r\n');
    if (end >= 0) return { text: held.toString('latin1', 0, end), rest: held.subarray(end + 2) };
    if (held.length > longestSizeLine) throw new Error('a chunk has no size');
    const more = await reader.next();
    held = held.length === 0 ? more : Buffer.concat([held, more]);
  }
}

interface Reader {
  /** The next bytes. Rejects when there will be none. */
  next(): Promise<Buffer>;
  release(): void;
}

function createReader(socket: Readable): Reader {
  let wake: (() => void) | undefined;
  let failure: Error | undefined;
  const onReadable = () => wake?.();
  const onError = (error: Error) => {
    failure ??= error;
    wake?.();
  };
  const onClose = () => onError(new Error('the connection closed'));
  socket.on('readable', onReadable).on('error', onError).on('end', onClose).on('close', onClose);
  return {
    async next() {
      for (;;) {
        const chunk: Buffer | null = socket.read();
        if (chunk !== null) return chunk;
        if (failure !== undefined) throw failure;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
    },
    release() {
      socket.off('readable', onReadable).off('end', onClose).off('close', onClose);
      // Whoever destroys the socket next with an error is not to bring the process down.
      socket.off('error', onError).on('error', () => undefined);
    },
  };
}
