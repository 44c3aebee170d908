import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';

/** Milliseconds for which ids begin alike, unless more are made. */
const stepMs = 64;

/**
 * 16 hex digits: half of them grow with time, so that the index of ids grows at its end (at random places each task
 * would write a page of its own once many wait); half are random, so that nobody guesses one.
 */
export function createTaskIds(clock: Pick<Clock, 'now'>, random: Random): () => string {
  let last = 0;
  return () => {
    last = Math.max(last + 1, Math.floor(clock.now() / stepMs));
    return (last >>> 0).toString(16).padStart(8, '0') + random.bytes(4).toString('hex');
  };
}
