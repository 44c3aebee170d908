import type { Random } from '#kit/random.ts';

const poolBytes = 4096;

/** The same randomness, fetched from the source a page at a time: a token needs 16 bytes, and asking costs more. */
export function poolRandom(random: Random): Random {
  let pool: Buffer = Buffer.alloc(0);
  let used = 0;
  return {
    ...random,
    bytes(size) {
      if (size > poolBytes) return random.bytes(size);
      if (used + size > pool.length) {
        pool = random.bytes(poolBytes);
        used = 0;
      }
      used += size;
      return pool.subarray(used - size, used);
    },
  };
}
