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

/** Printable ASCII, in which JSON has no escape that could stand for something else. */
const plainJson = /^(?:[\t\n\r -[\]-~]|\\["\\/nrt])*$/;

/** Says of items that were parsed from this text that there is nothing to clean in them, where that is plain to see. */
export function noteClean(items: readonly Item[], text: string): void {
  if (!plainJson.test(text)) return;
  for (const item of items) known.set(item, item);
}
