/** Numbers that a seed repeats. */
export interface Dice {
  /** In [0, 1). */
  fraction(): number;
  /** From 0 to `count` - 1. */
  below(count: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
}

/** mulberry32. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (count: number) => Math.floor(fraction() * count);
  return { fraction, below, pick: (list) => list[below(list.length)] ?? list[0] };
}
