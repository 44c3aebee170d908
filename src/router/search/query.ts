import type { SearchIndex } from './build-index.ts';
import { type EverydayWords, everydayWords } from './everyday-words.ts';
import { relatedWords } from './related-words.ts';
import { shapeWords } from './shapes.ts';
import { stem, wordsOf } from './words.ts';

export interface Match {
  /** Number of the tool in the index. */
  readonly tool: number;
  readonly score: number;
}

export interface SearchOptions {
  readonly limit: number;
  /** Only tools of this agent. */
  readonly agent?: string | undefined;
  /** What else words stand for. Default: everydayWords. */
  readonly everyday?: EverydayWords;
}

/**
 * The tools that have a word of the text or of what its words stand for, best first; equal ones in the order
 * of the index.
 */
export function searchTools(index: SearchIndex, text: string, options: SearchOptions): Match[] {
  const { agent, everyday = everydayWords } = options;
  const scores = new Map<number, number>();
  for (const word of new Set([...wordsOf(text), ...shapeWords(text).map(stem)])) {
    const shares = sharesOf(index, word, everyday);
    const rarity = rarityOf(shares.size, index.agents.length);
    for (const [tool, share] of shares) {
      if (agent !== undefined && index.agents[tool] !== agent) continue;
      scores.set(tool, (scores.get(tool) ?? 0) + rarity * share);
    }
  }
  const matches = [...scores].map(([tool, score]) => ({ tool, score }));
  matches.sort((left, right) => right.score - left.score || left.tool - right.tool);
  return matches.slice(0, options.limit);
}

/**
 * How much of a word each tool has: the most of all that it stands for, so that having many of those is no
 * gain, and a word that stands for much is as common as all of it together.
 */
function sharesOf(index: SearchIndex, word: string, everyday: EverydayWords): Map<number, number> {
  const best = new Map<number, number>();
  for (const { position, weight } of relatedWords(index.words, word, everyday)) {
    const postings = index.postings[position] ?? [];
    for (let at = 0; at < postings.length; at += 2) {
      const tool = postings[at] ?? 0;
      best.set(tool, Math.max(best.get(tool) ?? 0, weight * (postings[at + 1] ?? 0)));
    }
  }
  return best;
}

/** BM25's inverse document frequency, in the form that is never negative. */
function rarityOf(having: number, tools: number): number {
  return Math.log(1 + (tools - having + 0.5) / (having + 0.5));
}
