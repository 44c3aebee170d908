import type { Clock } from '#kit/clock.ts';

/** Remembers which token ids were used, for as long as a token can live. */
export interface ReplayWindow {
  /**
   * Records a token id. `replayed`: it was used before; `full`: too many live ids, so the call is refused.
   * `id` is 16 bytes; `expiresAt` is milliseconds since the epoch.
   */
  claim(id: Buffer, expiresAt: number): 'fresh' | 'replayed' | 'full';
  readonly size: number;
}

export interface ReplayOptions {
  readonly clock: Clock;
  /** Clock difference that the verifier forgives, in milliseconds: ids are kept that much longer. Default 30,000. */
  readonly skewMs?: number;
  /** Most ids remembered at once, 32 to 64 bytes each. Default 2,000,000; beyond it calls are refused. */
  readonly capacity?: number;
}

/** Generations are not made more often than this, in milliseconds. */
const shortestGeneration = 10_000;

/**
 * Two generations: the younger one takes new ids, both are asked. The older one is dropped only when the
 * monotonic clock AND the wall clock say that no token of it can still be accepted, so a wall clock that
 * leaps ahead and back revives no token that was used before the leap. Ids are four words in open-addressed tables: 16 bytes a slot, a
 * quarter to half of the slots in use.
 */
export function createReplayWindow(options: ReplayOptions): ReplayWindow {
  const { clock, skewMs = 30_000, capacity = 2_000_000 } = options;
  let young = emptyGeneration(clock.monotonic());
  let old = young;

  function rotate(now: number, monotonic: number): void {
    if (monotonic - young.startedAt < shortestGeneration) return;
    const dead = old === young || (now > old.deadAfterWall && monotonic > old.deadAfterMonotonic);
    if (!dead) return;
    old = young;
    young = emptyGeneration(monotonic);
  }
  return {
    claim(id, expiresAt) {
      const now = clock.now();
      const monotonic = clock.monotonic();
      rotate(now, monotonic);
      const words = wordsOf(id);
      if (has(young, words) || (old !== young && has(old, words))) return 'replayed';
      if (this.size >= capacity) return 'full';
      add(young, words);
      young.deadAfterWall = Math.max(young.deadAfterWall, expiresAt + skewMs);
      young.deadAfterMonotonic = Math.max(young.deadAfterMonotonic, monotonic + expiresAt - now + skewMs);
      return 'fresh';
    },
    get size() {
      return old === young ? young.count : young.count + old.count;
    },
  };
}

interface Generation {
  /** Four words a slot; a slot whose words are all zero is free. */
  slots: Uint32Array;
  count: number;
  hasZero: boolean;
  readonly startedAt: number;
  deadAfterWall: number;
  deadAfterMonotonic: number;
}

function emptyGeneration(startedAt: number): Generation {
  const slots = new Uint32Array(4 * 1024);
  return { slots, count: 0, hasZero: false, startedAt, deadAfterWall: 0, deadAfterMonotonic: 0 };
}

/** The four words of an id, one at a time: an array for each would cost more than the search. */
interface Words {
  a: number;
  b: number;
  c: number;
  d: number;
}

function has(generation: Generation, words: Words): boolean {
  if (isZero(words)) return generation.hasZero;
  return isTaken(generation.slots, find(generation.slots, words));
}

function add(generation: Generation, words: Words): void {
  generation.count += 1;
  if (isZero(words)) {
    generation.hasZero = true;
    return;
  }
  if (generation.count * 8 > generation.slots.length) generation.slots = grown(generation.slots);
  put(generation.slots, words);
}

function put(slots: Uint32Array, words: Words): void {
  const at = find(slots, words);
  slots[at] = words.a;
  slots[at + 1] = words.b;
  slots[at + 2] = words.c;
  slots[at + 3] = words.d;
}

function grown(slots: Uint32Array): Uint32Array {
  const larger = new Uint32Array(slots.length * 2);
  const words: Words = { a: 0, b: 0, c: 0, d: 0 };
  for (let at = 0; at < slots.length; at += 4) {
    if (!isTaken(slots, at)) continue;
    words.a = wordAt(slots, at);
    words.b = wordAt(slots, at + 1);
    words.c = wordAt(slots, at + 2);
    words.d = wordAt(slots, at + 3);
    put(larger, words);
  }
  return larger;
}

/** Index of the slot that holds `words`, or of the free slot where they belong. */
function find(slots: Uint32Array, { a, b, c, d }: Words): number {
  const mask = slots.length / 4 - 1;
  for (let slot = (a ^ b) & mask; ; slot = (slot + 1) & mask) {
    const at = slot * 4;
    const isSame = slots[at] === a && slots[at + 1] === b && slots[at + 2] === c && slots[at + 3] === d;
    if (isSame || !isTaken(slots, at)) return at;
  }
}

function isTaken(slots: Uint32Array, at: number): boolean {
  return slots[at] !== 0 || slots[at + 1] !== 0 || slots[at + 2] !== 0 || slots[at + 3] !== 0;
}

function wordAt(slots: Uint32Array, at: number): number {
  return slots[at] ?? 0;
}

function wordsOf(id: Buffer): Words {
  return { a: id.readUInt32LE(0), b: id.readUInt32LE(4), c: id.readUInt32LE(8), d: id.readUInt32LE(12) };
}

function isZero({ a, b, c, d }: Words): boolean {
  return a === 0 && b === 0 && c === 0 && d === 0;
}
