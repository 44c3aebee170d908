import type { Readable } from 'node:stream';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import { fileBuffers } from '../files/buffers.ts';
import { BlobError } from './errors.ts';

/**
 * Takes the chunks; the next come when it has resolved. What comes meanwhile waits, up to as many bytes. `release` is to
 * be called when nobody reads the chunks any more.
 */
export type TakeBatch = (chunks: readonly Buffer[], bytes: number, release: () => void) => Promise<void>;

export interface TakeOptions {
  /** Bytes that are handed on at once. */
  readonly batchBytes: number;
  readonly take: TakeBatch;
  readonly clock: Pick<Clock, 'after' | 'monotonic'>;
  /** Milliseconds without a byte after which the body has broken off. */
  readonly idleMs: number;
}

/**
 * Reads a body to its end, in batches, no faster than they are taken. Resolves with its bytes; rejects with what `take`
 * rejects with, or BlobError `Broken` when the body breaks off, and reads no more then.
 */
export function takeBody(body: Readable, options: TakeOptions): Promise<number> {
  const { batchBytes, take, clock, idleMs } = options;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let gathered = gather();
  let waiting = 0;
  let all = 0;
  let taking = false;
  let ended = false;
  let over = false;
  let heard = clock.monotonic();
  let cancel = clock.after(idleMs, look);

  function look(): void {
    const left = idleMs - (clock.monotonic() - heard);
    if (left <= 0 && !taking) fail(broken('nothing came for too long'));
    else cancel = clock.after(Math.max(left, 1000), look);
  }
  function finish(): void {
    over = true;
    cancel();
    body.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
  }
  function fail(error: unknown): void {
    if (over) return;
    finish();
    body.on('error', () => undefined);
    reject(error);
  }
  function hand(): void {
    taking = true;
    const batch = gathered;
    const bytes = waiting;
    gathered = gather();
    waiting = 0;
    take(batch.parts(), bytes, batch.release).then(taken, fail);
  }
  function taken(): void {
    taking = false;
    if (over) return;
    if (waiting >= batchBytes || (ended && waiting > 0)) hand();
    if (ended && !taking) {
      finish();
      resolve(all);
    } else if (waiting < batchBytes) body.resume();
  }
  function onData(chunk: Buffer): void {
    heard = clock.monotonic();
    gathered.add(chunk);
    waiting += chunk.length;
    all += chunk.length;
    if (waiting < batchBytes) return;
    if (taking) body.pause();
    else hand();
  }
  function onEnd(): void {
    ended = true;
    if (!taking) taken();
  }
  const onError = (error: unknown) => fail(broken(messageOf(error)));
  const onClose = () => ended || fail(broken('its sender has gone'));
  body.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  if (body.destroyed) onClose();
  return promise;
}

function broken(why: string): BlobError {
  return new BlobError('Broken', `The upload broke off: ${why}`);
}

interface Gathered {
  add(chunk: Buffer): void;
  parts(): Buffer[];
  /** When nobody reads the parts any more. */
  release(): void;
}

/** Copies chunks into buffers that are used again: those that wait would live too long to be freed cheaply. */
function gather(): Gathered {
  const buffers: Buffer[] = [];
  let free = 0;
  return {
    add(chunk) {
      for (let at = 0; at < chunk.length; ) {
        if (free === 0) buffers.push(fileBuffers.take());
        const last = buffers.at(-1) ?? Buffer.alloc(0);
        if (free === 0) free = last.length;
        const copied = chunk.copy(last, last.length - free, at);
        free -= copied;
        at += copied;
      }
    },
    parts: () =>
      buffers.map((buffer, index) =>
        index === buffers.length - 1 ? buffer.subarray(0, buffer.length - free) : buffer,
      ),
    release() {
      for (const buffer of buffers.splice(0)) fileBuffers.give(buffer);
    },
  };
}
