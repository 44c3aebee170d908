import type { Random } from '#kit/random.ts';

/** Values of the part that grows. */
const steps = 0x1_0000;

/**
 * 16 hex digits. The first four grow, so that the index of ids is written at one place: at random places each task
 * would write a page of its own once many wait. The other 48 bits are random: whoever knows an id was told it.
 */
export function createTaskIds(random: Random): () => string {
  let next = random.bytes(2).readUInt16BE();
  return () => {
    next = (next + 1) % steps;
    return next.toString(16).padStart(4, '0') + random.bytes(6).toString('hex');
  };
}
