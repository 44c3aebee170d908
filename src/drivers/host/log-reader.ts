import { watch } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { StringDecoder } from 'node:string_decoder';

/** Most that is read from the end of a log to find its last lines. */
const tailBytes = 256 * 1024;

/** The last `lines` lines of a file as one text; empty when there is no file. */
export async function tailOf(path: string, lines: number): Promise<string> {
  const { text } = await readEnd(path);
  return lastLines(text, lines).join('\n');
}

function lastLines(text: string, lines: number): string[] {
  const all = text.split('\n');
  if (all.at(-1) === '') all.pop();
  return all.slice(Math.max(0, all.length - lines));
}

interface End {
  readonly text: string;
  /** Where reading goes on, and in which file. */
  readonly position: number;
  readonly file: number;
}

async function readEnd(path: string): Promise<End> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return { text: '', position: 0, file: 0 };
  try {
    const { size, ino } = await file.stat();
    const start = Math.max(0, size - tailBytes);
    const buffer = Buffer.alloc(size - start);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    return { text: buffer.toString('utf8', 0, bytesRead), position: start + bytesRead, file: ino };
  } finally {
    await file.close();
  }
}

/**
 * The last `tail` lines of a log and, with `follow`, every line after them until `signal` is aborted.
 * Follows the log through rotation. Woken by the file system, not by a timer.
 */
export async function* readLog(
  path: string,
  options: { readonly tail: number; readonly follow: boolean; readonly signal?: AbortSignal | undefined },
): AsyncIterable<string> {
  const end = await readEnd(path);
  const complete = end.text.endsWith('\n') || !options.follow;
  const cut = complete ? end.text.length : end.text.lastIndexOf('\n') + 1;
  yield* lastLines(end.text.slice(0, cut), options.tail);
  if (options.follow) yield* followLog(path, { ...end, text: end.text.slice(cut) }, options.signal);
}

async function* followLog(path: string, from: End, signal: AbortSignal | undefined): AsyncIterable<string> {
  let { position, file, text: rest } = from;
  let decoder = new StringDecoder('utf8');
  for await (const _ of watchFile(path, signal)) {
    for (;;) {
      const now = await stat(path).catch(() => undefined);
      if (now === undefined) break;
      if (now.ino !== file) {
        position = 0;
        file = now.ino;
        decoder = new StringDecoder('utf8');
      }
      const added = await readFrom(path, position, now.size);
      if (added.length === 0) break;
      position += added.length;
      const lines = (rest + decoder.write(added)).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
  }
}

async function readFrom(path: string, position: number, size: number): Promise<Buffer> {
  if (size <= position) return Buffer.alloc(0);
  const file = await open(path, 'r');
  try {
    const buffer = Buffer.alloc(Math.min(size - position, tailBytes));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Yields once now and whenever the file's folder says that it changed; ends when `signal` is aborted. */
async function* watchFile(path: string, signal: AbortSignal | undefined): AsyncIterable<void> {
  let wake: () => void = () => undefined;
  let isDirty = true;
  const watcher = watch(dirname(path), (_event, name) => {
    if (name !== null && name !== basename(path)) return;
    isDirty = true;
    wake();
  });
  const onAbort = () => wake();
  signal?.addEventListener('abort', onAbort);
  try {
    while (signal?.aborted !== true) {
      if (!isDirty)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      isDirty = false;
      yield;
    }
  } finally {
    watcher.close();
    signal?.removeEventListener('abort', onAbort);
  }
}
