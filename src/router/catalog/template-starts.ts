import { oncePerObject } from '#kit/memo.ts';
import { literalStart } from '#routing/uris.ts';
import type { View, ViewItem } from './view.ts';

/** Finds templates by what a URI begins with. */
export interface TemplateStarts {
  /** Those with the longest literal beginning that the URI has and that `isMeant`; the first of them. */
  longest(uri: string, isMeant: (item: ViewItem) => boolean): ViewItem | undefined;
  /** True when a template of the agent's, in its own words, may have made the URI. */
  isOf(agent: string, uri: string): boolean;
}

/**
 * The templates of a list, looked through once however many URIs are asked for: a URI then costs one lookup for
 * each length that some beginning has and that is not longer than the URI.
 */
export const templateStartsOf: (templates: View) => TemplateStarts = oncePerObject(({ byExposed }) => {
  const shown = createStarts<ViewItem>();
  const own = new Map<string, ReturnType<typeof createStarts<true>>>();
  for (const item of byExposed.values()) {
    shown.add(literalStart(item.exposed), item);
    const ofAgent = own.get(item.agent) ?? createStarts<true>();
    own.set(item.agent, ofAgent);
    ofAgent.add(literalStart(item.name), true);
  }
  return {
    longest(uri, isMeant) {
      for (const [start, items] of shown.of(uri)) {
        const item = start === '' ? undefined : items.find(isMeant);
        if (item !== undefined) return item;
      }
      return undefined;
    },
    isOf: (agent, uri) => own.get(agent)?.of(uri).next().done === false,
  };
});

/** Values by a beginning. */
function createStarts<T>() {
  const known = new Map<string, T[]>();
  let lengths: number[] | undefined;
  return {
    add(start: string, value: T): void {
      const here = known.get(start);
      if (here === undefined) known.set(start, [value]);
      else here.push(value);
    },
    /** The beginnings that the text has, the longest first. */
    *of(text: string): Generator<readonly [start: string, values: readonly T[]]> {
      lengths ??= [...new Set([...known.keys()].map((start) => start.length))].sort((a, b) => b - a);
      for (const length of lengths) {
        const start = length > text.length ? undefined : text.slice(0, length);
        const values = start === undefined ? undefined : known.get(start);
        if (start !== undefined && values !== undefined) yield [start, values];
      }
    },
  };
}
