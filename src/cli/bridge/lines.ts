import type { Readable } from 'node:stream';

/** A line without its end; undefined: it was longer than is taken, and skipped. */
export type Line = string | undefined;

/** Lines of a stream, cut at \n; empty ones are left out. The last needs no end. */
export async function* linesOf(input: Readable, maxBytes: number): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let size = 0;
  const take = (): Line => {
    const text = size > maxBytes ? undefined : Buffer.concat(parts).toString('utf8').replace(/\r$/, '');
    parts = [];
    size = 0;
    return text;
  };
  for await (const chunk of input) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    let from = 0;
    for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
      size += end - from;
      if (size <= maxBytes) parts.push(bytes.subarray(from, end));
      from = end + 1;
      const line = take();
      if (line !== '') yield line;
    }
    size += bytes.length - from;
    if (size <= maxBytes) parts.push(bytes.subarray(from));
    else parts = [];
  }
  const last = take();
  if (last !== '') yield last;
}
