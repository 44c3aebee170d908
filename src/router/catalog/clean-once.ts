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

/** True when nothing is hidden in anything that was parsed from this text, names included; false when there may be. */
export function isPlain(text: string): boolean {
  return !perhapsHidden.test(text);
}

/** Lists in whose items there is nothing to clean: one entry for each is less than one for each item. */
const plainLists = new WeakSet<readonly Item[]>();

/** Says of a list that all of it was parsed from plain texts. */
export function notePlain(items: readonly Item[]): void {
  plainLists.add(items);
}

/** True when it is known that nothing is hidden in these items. */
export function isPlainList(items: readonly Item[]): boolean {
  return plainLists.has(items);
}
