import { cleanItem } from '#mcp/hidden-text.ts';
import type { Item } from './list-kinds.ts';

/** Lists are merged again whenever one of them changes; most of their items are then the same. */
const known = new WeakMap<Item, Item>();

/** `cleanItem`, once for each item. */
export function cleanOnce(item: Item): Item {
  const found = known.get(item);
  if (found !== undefined) return found;
  const cleaned = cleanItem(item);
  known.set(item, cleaned);
  return cleaned;
}

/**
 * Anything but printable ASCII, or an escape of JSON that could stand for something else. It looks for one place,
 * since a pattern that repeats alternatives over megabytes overflows the stack.
 */
const perhapsHidden = /[^\t\n\r -~]|\\[^"\\/nrt]/;

/** Says of items that were parsed from this text that there is nothing to clean in them, where that is plain to see. */
export function noteClean(items: readonly Item[], text: string): void {
  if (perhapsHidden.test(text)) return;
  for (const item of items) known.set(item, item);
}
