import { createHash } from 'node:crypto';
import type { Worker } from 'node:worker_threads';
import type { Clock } from '#kit/clock.ts';
import { HashThread } from './hash-thread.ts';
import { startHashThread } from './thread.ts';

/** SHA-256 of one upload. */
export interface BodyHash {
  /**
   * Takes what comes next. Resolves when it is not needed any more. Rejects with BlobError `StoreFailed` when the thread
   * has ended; the upload has failed then.
   */
  update(chunks: readonly Buffer[]): Promise<unknown>;
  /** Hex, of all that came. Rejects as `update` does. */
  digest(): Promise<string>;
  /** To be called at the end, whether there was a digest or not. */
  close(): void;
}

export interface Hasher {
  /** `bytes`: what the upload will have, where that is known. */
  begin(bytes: number | undefined): BodyHash;
  close(): void;
}

export interface HasherOptions {
  readonly startThread?: () => Promise<Worker>;
  readonly clock: Pick<Clock, 'after'>;
}

/** Of fewer bytes the digest is there before a thread would have started. */
const smallBytes = 8 * 1024 * 1024;
/** Milliseconds without an upload after which the thread ends: it takes some MiB. */
const idleMs = 10_000;

/** Hashes large uploads in one thread beside, which is there while it is needed. */
export function createHasher({ startThread = startHashThread, clock }: HasherOptions): Hasher {
  let thread: Promise<HashThread> | undefined;
  let uploads = 0;
  let serial = 0;
  let cancelEnd = () => {};

  function end(): void {
    cancelEnd();
    thread?.then(
      (running) => running.end(),
      () => undefined,
    );
    thread = undefined;
  }
  async function current(): Promise<HashThread> {
    const last = await thread?.catch(() => undefined);
    return last === undefined || last.isOver ? new HashThread(await startThread()) : last;
  }
  return {
    begin(bytes) {
      if (bytes !== undefined && bytes <= smallBytes) return hashHere();
      cancelEnd();
      uploads += 1;
      serial += 1;
      thread = current();
      return hashBeside(thread, serial, () => {
        uploads -= 1;
        if (uploads === 0 && thread !== undefined) cancelEnd = clock.after(idleMs, end);
      });
    },
    close: end,
  };
}

function hashHere(): BodyHash {
  const hash = createHash('sha256');
  return {
    async update(chunks) {
      for (const chunk of chunks) hash.update(chunk);
    },
    digest: async () => hash.digest('hex'),
    close: () => undefined,
  };
}

function hashBeside(starting: Promise<HashThread>, upload: number, onClose: () => void): BodyHash {
  let isDone = false;
  // Whoever asks is told.
  starting.catch(() => undefined);
  return {
    update: async (chunks) => (await starting).ask({ type: 'update', upload, chunks }),
    async digest() {
      const sha256 = await (await starting).ask({ type: 'digest', upload });
      isDone = true;
      return sha256 ?? '';
    },
    close() {
      if (!isDone)
        starting.then(
          (thread) => thread.drop(upload),
          () => undefined,
        );
      onClose();
    },
  };
}
