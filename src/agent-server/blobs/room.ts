import { BlobError } from './errors.ts';
import type { BlobLimits, Usage } from './limits.ts';

/** What one upload takes of the quota while it comes. */
export interface Room {
  /** Bytes that it has of the quota. */
  readonly held: number;
  /** So many bytes more came. Throws BlobError when they find no place. */
  take(bytes: number): void;
  /** It has ended, with so many bytes in all. */
  settle(bytes: number): void;
  /** Nothing of it is kept. */
  giveBack(): void;
}

/**
 * `stated`: what its client says it has. Throws BlobError when that finds no place now; it is held only as it comes, or a
 * word of a slow client would keep all others out.
 */
export function openRoom(usage: Usage, limits: BlobLimits, stated: number | undefined): Room {
  let reserved = 0;
  let taken = 0;
  const upTo = (bytes: number) => {
    if (bytes > limits.maxBlobBytes) throw tooLarge(limits);
    if (bytes <= reserved) return;
    usage.reserve(bytes - reserved);
    reserved = bytes;
  };
  usage.begin();
  try {
    upTo(stated ?? 0);
    usage.release(reserved);
    reserved = 0;
  } catch (error) {
    usage.end();
    throw error;
  }
  return {
    get held() {
      return reserved;
    },
    take(bytes) {
      taken += bytes;
      upTo(taken);
    },
    settle(bytes) {
      usage.release(reserved - bytes);
      reserved = bytes;
    },
    giveBack() {
      usage.release(reserved);
      usage.end();
    },
  };
}

export function tooLarge({ maxBlobBytes }: BlobLimits): BlobError {
  return new BlobError('TooLarge', `A blob of this agent may have ${maxBlobBytes} bytes`, {
    remedy: 'Give the Agent a larger spec.storage.blobs.maxBlobBytes.',
  });
}
