import type { SearchIndex } from './build-index.ts';
import { wordsOf } from './words.ts';

export interface Match {
  /** Number of the tool in the index. */
  readonly tool: number;
  readonly score: number;
}

/** The tools that have a word of the text, best first; equal ones in the order of the index. */
export function searchTools(
  index: SearchIndex,
  text: string,
  options: { readonly limit: number; readonly agent?: string | undefined },
): Match[] {
  const scores = new Map<number, number>();
  for (const word of new Set(wordsOf(text))) {
    const postings = index.postings[positionOf(index.words, word)] ?? [];
    for (let at = 0; at < postings.length; at += 2) {
      const tool = postings[at] ?? 0;
      if (options.agent !== undefined && index.agents[tool] !== options.agent) continue;
      scores.set(tool, (scores.get(tool) ?? 0) + (postings[at + 1] ?? 0));
    }
  }
  const matches = [...scores].map(([tool, score]) => ({ tool, score }));
  matches.sort((left, right) => right.score - left.score || left.tool - right.tool);
  return matches.slice(0, options.limit);
}

/** Position of a word in a sorted list, -1 when it is not there. */
function positionOf(words: readonly string[], word: string): number {
  let low = 0;
  let high = words.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = words[middle] ?? '';
    if (found === word) return middle;
    if (found < word) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
