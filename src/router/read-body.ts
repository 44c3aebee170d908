import type { IncomingMessage } from 'node:http';
import type { Services } from './services.ts';

/** Why a body was not read: status and message for the client, which can say no more on this connection. */
export interface BodyRefused {
  readonly status: 400 | 413 | 415;
  readonly message: string;
}

export interface BodyReader {
  /** Calls back once: with the text, undefined when no body was sent, or with why not. Never when the client went. */
  read(
    request: IncomingMessage,
    done: (text: string | undefined, refused: BodyRefused | undefined) => void,
  ): void;
  close(): void;
}

const tooLong: BodyRefused = { status: 413, message: 'Request body is too large' };
const otherType: BodyRefused = { status: 415, message: 'Unsupported Media Type' };
const compressed: BodyRefused = {
  status: 415,
  message: 'Request bodies are taken without Content-Encoding only: send it as it is',
};

/** Reads JSON bodies as text, within `limits.bodyBytes` and `limits.bodyTimeoutMs`. */
export function createBodyReader(
  services: Pick<Services, 'clock' | 'limits'> & Partial<Pick<Services, 'reclaim'>>,
): BodyReader {
  const { clock, limits } = services;
  const deadlines = watchBodyTime(clock, limits.bodyTimeoutMs);
  const leaveBytes = countLarge(services);
  return {
    read(request, done) {
      const { headers } = request;
      const length = headers['content-length'];
      const type = headers['content-type'];
      const isEmpty = headers['transfer-encoding'] === undefined && (length === undefined || length === '0');
      if (type === undefined && isEmpty) done(undefined, undefined);
      else if (!isJson(type)) done(undefined, otherType);
      else if (isEncoded(headers['content-encoding'])) done(undefined, compressed);
      else if (Number(length) > limits.bodyBytes) done(undefined, tooLong);
      else {
        deadlines.begin(request);
        collect(request, limits.bodyBytes, (text, refused, bytes) => {
          deadlines.end(request);
          done(text, refused);
          leaveBytes(bytes);
        });
      }
    },
    close: () => deadlines.close(),
  };
}

function isJson(type: string | undefined): boolean {
  if (type === undefined || type === 'application/json') return type !== undefined;
  const semicolon = type.indexOf(';');
  return (semicolon < 0 ? type : type.slice(0, semicolon)).trim().toLowerCase() === 'application/json';
}

/** Nothing is unpacked here: a kilobyte can stand for a gigabyte. */
function isEncoded(encoding: string | undefined): boolean {
  return encoding !== undefined && encoding.toLowerCase() !== 'identity';
}

/** A body of this many bytes is large. */
const largeBytes = 256 * 1024;
/** After this many bytes of large bodies, what they were read into is freed. */
const mostLeftBytes = 8 * 1024 * 1024;

/** Told of bodies that are done with: somebody who sends large ones on and on must not fill the memory with what they leave. */
function countLarge({ clock, reclaim }: Parameters<typeof createBodyReader>[0]): (bytes: number) => void {
  let left = 0;
  return (bytes) => {
    if (bytes < largeBytes || reclaim === undefined) return;
    left += bytes;
    if (left < mostLeftBytes) return;
    left = 0;
    // Not before the body itself has been let go.
    clock.after(0, reclaim);
  };
}

/** Decodes at the end, so that a character may lie across two chunks. Says how many bytes came. */
function collect(
  request: IncomingMessage,
  maxBytes: number,
  done: (text: string | undefined, refused: BodyRefused | undefined, bytes: number) => void,
): void {
  let chunks: Buffer[] = [];
  let size = 0;
  let over = false;
  request.on('data', (chunk: Buffer) => {
    if (over) return;
    size += chunk.length;
    chunks.push(chunk);
    if (size <= maxBytes) return;
    over = true;
    chunks = [];
    done(undefined, tooLong, size);
  });
  request.on('end', () => {
    if (over) return;
    over = true;
    const [first = Buffer.alloc(0)] = chunks;
    done((chunks.length < 2 ? first : Buffer.concat(chunks, size)).toString('utf8'), undefined, size);
  });
  request.on('error', (error) => {
    if (over) return;
    over = true;
    chunks = [];
    done(undefined, { status: 400, message: error.message }, size);
  });
}

/** Between two looks, in milliseconds: how much longer than the limit a slow client may hold on. */
const lookEveryMs = 250;

/**
 * A client that sends a JSON body too slowly is cut off: it holds a connection and the memory of what came.
 * One timer looks after all of them, because almost every body is there at once.
 */
function watchBodyTime(clock: Services['clock'], limitMs: number) {
  const reading = new Map<IncomingMessage, number>();
  let cancel: (() => void) | undefined;

  function look(): void {
    cancel = undefined;
    const oldest = clock.monotonic() - limitMs;
    for (const [request, since] of reading) {
      if (request.complete || request.destroyed) reading.delete(request);
      else if (since < oldest) request.destroy();
    }
    if (reading.size > 0) cancel = clock.after(lookEveryMs, look);
  }
  return {
    begin(request: IncomingMessage): void {
      reading.set(request, clock.monotonic());
      cancel ??= clock.after(lookEveryMs, look);
    },
    end: (request: IncomingMessage): void => void reading.delete(request),
    close: (): void => cancel?.(),
  };
}
