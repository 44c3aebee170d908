import type { EverydayWords } from './everyday-words.ts';

export interface RelatedWord {
  /** Position in the index's words. */
  readonly position: number;
  /** From 0 to 1: what a match counts, compared with the word itself. */
  readonly weight: number;
}

const likeWeight = 0.5;
const formWeight = 0.7;

/**
 * The words of an index that a word of a query stands for: itself and its longer forms; others that mean the
 * same; and when the index does not have it, the words that it is made of ("unzip", "homepage"). Words of the
 * query and of `everyday` are stems.
 */
export function relatedWords(words: readonly string[], word: string, everyday: EverydayWords): RelatedWord[] {
  const exact = positionOf(words, word);
  const own = exact < 0 ? partsOf(words, word) : [{ position: exact, weight: 1 }];
  const others = [...(everyday.get(word) ?? [])].flatMap((other) => known(words, other, likeWeight));
  return [...own, ...formsOf(words, word), ...others];
}

/** Shortest beginning by which two forms of one word are known: "modif" of modified and modification. */
const shortestRoot = 5;

function formsOf(words: readonly string[], word: string): RelatedWord[] {
  const root = word.slice(0, Math.max(shortestRoot, word.length - 3));
  if (root.length < shortestRoot) return [];
  const found: RelatedWord[] = [];
  for (let position = firstFrom(words, root); words[position]?.startsWith(root); position += 1) {
    found.push({ position, weight: formWeight });
  }
  return found;
}

/** Both halves of a compound, or what a negating or repeating prefix stands before. */
function partsOf(words: readonly string[], word: string): RelatedWord[] {
  const [, , rest] = /^(un|re|de|dis)(.{3,})$/.exec(word) ?? [];
  const bare = rest === undefined ? [] : known(words, rest, formWeight);
  if (bare.length > 0) return bare;
  for (let at = 3; at <= word.length - 3; at += 1) {
    const halves = [word.slice(0, at), word.slice(at)].map((half) => known(words, half, formWeight));
    if (halves.every((half) => half.length > 0)) return halves.flat();
  }
  return [];
}

function known(words: readonly string[], word: string, weight: number): RelatedWord[] {
  const position = positionOf(words, word);
  return position < 0 ? [] : [{ position, weight }];
}

/** Position of a word in a sorted list, -1 when it is not there. */
function positionOf(words: readonly string[], word: string): number {
  const position = firstFrom(words, word);
  return words[position] === word ? position : -1;
}

/** Position of the first word that is not before `start`. */
function firstFrom(words: readonly string[], start: string): number {
  let low = 0;
  let high = words.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((words[middle] ?? '') < start) low = middle + 1;
    else high = middle;
  }
  return low;
}
