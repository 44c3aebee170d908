import type { Readable } from 'node:stream';

/**
 * Calls back with each line of a stream, without its line end. Lines over `limit` bytes are dropped, and
 * `onOverflow` is told as soon as one is.
 */
export function readLines(
  source: Readable,
  limit: number,
  onLine: (line: Buffer) => void,
  onOverflow: () => void = () => undefined,
): void {
  let parts: Buffer[] = [];
  let held = 0;
  const take = (piece: Buffer) => {
    const before = held;
    held += piece.length;
    if (held <= limit) parts.push(piece);
    else {
      parts = [];
      if (before <= limit) onOverflow();
    }
  };
  const emit = () => {
    if (held > 0 && held <= limit) onLine(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts));
    parts = [];
    held = 0;
  };
  source.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      take(chunk.subarray(start, end));
      emit();
      start = end + 1;
    }
    if (start < chunk.length) take(chunk.subarray(start));
  });
  source.on('end', emit);
}
