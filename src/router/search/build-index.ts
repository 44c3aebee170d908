import { isObject } from '#kit/json.ts';
import { wordsOf } from './words.ts';

/** What a search sees of a tool. */
export interface SearchableTool {
  readonly agent: string;
  /** As clients call it. */
  readonly name: string;
  /** As its agent lists it. */
  readonly item: Readonly<Record<string, unknown>>;
}

/**
 * BM25F as in Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), §3.5:
 * the fields' term frequencies are weighted and added before they saturate.
 */
export interface SearchWeights {
  /** How slowly another occurrence of a word stops to count. */
  readonly k1: number;
  /** How much a long tool loses against a short one: 0 nothing, 1 all. */
  readonly b: number;
  /** What an occurrence in each field counts. */
  readonly fields: Readonly<Record<SearchField, number>>;
}

export type SearchField = 'name' | 'title' | 'description' | 'parameterName' | 'parameterText' | 'agent';

export const defaultWeights: SearchWeights = {
  k1: 1.2,
  b: 0.2,
  fields: { name: 2, title: 1, description: 1, parameterName: 0.2, parameterText: 0.2, agent: 1 },
};

/** Plain data. */
export interface SearchIndex {
  /** Sorted. */
  readonly words: readonly string[];
  /** For each word: number of a tool, how much of the word it has (0 to 1), the next tool, … */
  readonly postings: readonly (readonly number[])[];
  /** Agent of each tool, by its number. */
  readonly agents: readonly string[];
}

/** Tools get their numbers in the order in which they come. */
export function buildIndex(
  tools: readonly SearchableTool[],
  weights: SearchWeights = defaultWeights,
): SearchIndex {
  const counted = tools.map((tool) => countWords(tool, weights));
  const average = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length);
  const occurrences = new Map<string, [tool: number, frequency: number][]>();
  counted.forEach(({ frequencies, length }, tool) => {
    const norm = 1 - weights.b + weights.b * (length / average);
    for (const [word, count] of frequencies) {
      const entry: [number, number] = [tool, count / norm];
      const known = occurrences.get(word);
      if (known === undefined) occurrences.set(word, [entry]);
      else known.push(entry);
    }
  });
  const words = [...occurrences.keys()].sort();
  const postings = words.map((word) => saturate(occurrences.get(word) ?? [], weights.k1));
  return { words, postings, agents: tools.map((tool) => tool.agent) };
}

function saturate(entries: readonly [number, number][], k1: number): number[] {
  return entries.flatMap(([tool, frequency]) => [tool, frequency / (k1 + frequency)]);
}

/** What a tool says beyond these helps nobody to find it, and an agent could say without end. */
const longestText = 4_000;
const mostParameters = 100;

interface CountedWords {
  readonly frequencies: ReadonlyMap<string, number>;
  readonly length: number;
}

function countWords(tool: SearchableTool, { fields }: SearchWeights): CountedWords {
  const frequencies = new Map<string, number>();
  let length = 0;
  for (const [field, text] of textsOf(tool)) {
    for (const word of wordsOf(text.slice(0, longestText))) {
      frequencies.set(word, (frequencies.get(word) ?? 0) + fields[field]);
      length += fields[field];
    }
  }
  return { frequencies, length };
}

function textsOf({ agent, name, item }: SearchableTool): [SearchField, string][] {
  const texts: [SearchField, string][] = [
    ['name', name],
    ['agent', agent],
  ];
  const annotations = isObject(item['annotations']) ? item['annotations'] : {};
  const title = item['title'] ?? annotations['title'];
  if (typeof title === 'string') texts.push(['title', title]);
  if (typeof item['description'] === 'string') texts.push(['description', item['description']]);
  const schema = isObject(item['inputSchema']) ? item['inputSchema'] : {};
  const parameters = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  for (const [parameter, facts] of parameters.slice(0, mostParameters)) {
    texts.push(['parameterName', parameter]);
    const text = isObject(facts) ? facts['description'] : undefined;
    if (typeof text === 'string') texts.push(['parameterText', text]);
  }
  return texts;
}
