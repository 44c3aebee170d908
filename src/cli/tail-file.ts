import { open, stat } from 'node:fs/promises';
import type { Clock } from '#kit/clock.ts';
import { codeOf } from '#kit/errors.ts';

export interface TailOptions {
  /** Lines from the end. */
  readonly lines: number;
  readonly follow: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const chunkBytes = 64 * 1024;
const pollMs = 200;

/**
 * The end of a growing file, in pieces that end with a line (the last piece may not). With `follow` it goes
 * on with what is appended until the signal ends it, also over a rotation (the file becomes smaller or
 * another one) and when the file comes to be only later. Without a file and without `follow`: nothing.
 */
export async function* tailFile(path: string, options: TailOptions): AsyncGenerator<string> {
  let at = await startOfLastLines(path, options.lines);
  let inode = await inodeOf(path);
  for (;;) {
    const current = await inodeOf(path);
    if (current !== inode) {
      inode = current;
      at = 0;
    }
    const { text, end } = await readFrom(path, at);
    at = end;
    if (text !== '') yield text;
    else if (!options.follow) return;
    else await options.clock.sleep(pollMs, options.signal).catch(() => undefined);
    if (options.signal.aborted) return;
  }
}

/** The file's size where fewer lines than asked for begin: 0 when the file has no more. */
async function startOfLastLines(path: string, lines: number): Promise<number> {
  const size = await sizeOf(path);
  if (lines <= 0) return size;
  let text = Buffer.alloc(0);
  let at = size;
  while (at > 0 && count(text) <= lines) {
    const from = Math.max(0, at - chunkBytes);
    text = Buffer.concat([await readRange(path, from, at), text]);
    at = from;
  }
  let skip = count(text) - lines - (text.at(-1) === 10 || text.length === 0 ? 0 : -1);
  let index = 0;
  for (; skip > 0; skip--) index = text.indexOf(10, index) + 1;
  return at + index;
}

function count(data: Buffer): number {
  let lines = 0;
  for (const byte of data) if (byte === 10) lines++;
  return lines;
}

async function readFrom(path: string, at: number): Promise<{ text: string; end: number }> {
  const size = await sizeOf(path);
  const from = size < at ? 0 : at;
  const data = await readRange(path, from, Math.min(size, from + chunkBytes));
  // Up to the last whole line, so that no character is cut; a longer line comes as it is.
  const whole = data.lastIndexOf(10) + 1;
  const used = whole > 0 ? whole : data.length;
  return { text: data.subarray(0, used).toString('utf8'), end: from + used };
}

async function readRange(path: string, from: number, to: number): Promise<Buffer> {
  if (to <= from) return Buffer.alloc(0);
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(to - from), 0, to - from, from);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

async function sizeOf(path: string): Promise<number> {
  return (await statOf(path))?.size ?? 0;
}

async function inodeOf(path: string): Promise<number | undefined> {
  return (await statOf(path))?.ino;
}

function statOf(path: string) {
  return stat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
}
