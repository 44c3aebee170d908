import type { TakeBatch } from '../take-body.ts';
import type { BodyHash } from './hasher.ts';

/** Writes and hashes each batch at the same time. Of those that are written, one at most is still being hashed. */
export function writeAndHash(
  write: (chunks: readonly Buffer[], bytes: number) => Promise<void>,
  hash: Pick<BodyHash, 'update'>,
): TakeBatch {
  let before: Promise<unknown> = Promise.resolve();
  return async (chunks, bytes, release) => {
    const written = write(chunks, bytes);
    const hashed = hash.update(chunks);
    // After a failure they may still be read: they are left to the collector.
    Promise.all([written, hashed]).then(release, () => undefined);
    await written;
    await before;
    before = hashed;
  };
}
