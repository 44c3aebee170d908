import type { IncomingMessage } from 'node:http';

/** Milliseconds without a byte of a body after which its connection is cut. */
const silentMs = 60_000;

/** The whole body as text, or the reason why not. A body over `maxBytes` is not read to its end. */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<string | 'too-large' | 'aborted'> {
  return new Promise((resolve) => {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) {
      resolve('too-large');
      return;
    }
    const parts: Buffer[] = [];
    let size = 0;
    request.socket.setTimeout(silentMs);
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) resolve('too-large');
      else parts.push(chunk);
    });
    request.once('end', () => {
      request.socket.setTimeout(0);
      resolve(utf8(parts));
    });
    request.once('error', () => resolve('aborted'));
    request.once('close', () => resolve('aborted'));
  });
}

function utf8(parts: readonly Buffer[]): string {
  const [only] = parts;
  return (parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)).toString('utf8');
}
