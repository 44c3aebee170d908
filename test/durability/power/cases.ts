import type { Dice } from '../kills/random.ts';
import type { DiskState } from './states.ts';

/** What a disk did to one file. */
export interface Damage {
  readonly file: 'database' | 'log';
  readonly how: 'cut' | 'bit' | 'sector';
  readonly offset: number;
  /** Of `bit`. */
  readonly bit: number;
}

export interface Case {
  readonly state: DiskState;
  readonly damage: Damage;
}

const tailBytes = 4_096;
const sectorBytes = 512;

/**
 * Both files cut at every byte of their last 4 KiB, with bits turned over there and anywhere, and with sectors that
 * were never written. `share` takes so many of them, evenly.
 */
export function makeCases(states: readonly DiskState[], dice: Dice, share: number): Case[] {
  const cases = states.flatMap((state) => [
    ...(state.log.length > 0 ? casesOf(state, 'log', dice) : []),
    ...(state.name === 'in the log' ? [] : casesOf(state, 'database', dice)),
  ]);
  return cases.filter((_, index) => Math.floor(index * share) !== Math.floor((index + 1) * share));
}

function casesOf(state: DiskState, file: Damage['file'], dice: Dice): Case[] {
  const { length } = state[file];
  const tail = Math.max(0, length - tailBytes);
  const make = (how: Damage['how'], offset: number): Case => {
    return { state, damage: { file, how, offset, bit: dice.below(8) } };
  };
  const many = (count: number, one: () => Case) => Array.from({ length: count }, one);
  return [
    ...Array.from({ length: length - tail }, (_, index) => make('cut', tail + index)),
    ...many(1_200, () => make('bit', tail + dice.below(length - tail))),
    ...many(800, () => make('bit', dice.below(length))),
    ...many(100, () => make('cut', dice.below(length))),
    ...many(150, () => make('sector', sectorBytes * dice.below(Math.ceil(length / sectorBytes)))),
  ];
}

/** The file as the disk left it. */
export function damaged(bytes: Buffer, { how, offset, bit }: Damage): Buffer {
  if (how === 'cut') return bytes.subarray(0, offset);
  const copy = Buffer.from(bytes);
  if (how === 'bit') copy[offset] = (copy[offset] ?? 0) ^ (1 << bit);
  else copy.fill(0, offset, Math.min(copy.length, offset + sectorBytes));
  return copy;
}

export function describeDamage({ file, how, offset, bit }: Damage): string {
  const what = { cut: 'cut at', bit: `bit ${bit} turned at`, sector: 'no sector at' }[how];
  return `${file} ${what} byte ${offset}`;
}
