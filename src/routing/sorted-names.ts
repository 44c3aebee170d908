import { sha256Hex } from '#kit/digest.ts';
import { oncePerObject } from '#kit/memo.ts';

/** Names in the order of their code units, each once. A list is never changed, so that many may share it. */
export type SortedNames = readonly string[];

/** Costs the logarithm of the list's length. */
export function hasName(names: SortedNames, name: string): boolean {
  return names[placeOf(names, name)] === name;
}

/** The list with the names that `changes` says true of and without the others; the same one if that is no change. */
export function changeNames(names: SortedNames, changes: ReadonlyMap<string, boolean>): SortedNames {
  const come: string[] = [];
  const gone = new Set<string>();
  for (const [name, stays] of changes) {
    if (hasName(names, name) === stays) continue;
    if (stays) come.push(name);
    else gone.add(name);
  }
  if (come.length === 0 && gone.size === 0) return names;
  const kept = gone.size === 0 ? names : names.filter((name) => !gone.has(name));
  return merge(kept, come.sort());
}

/** A digest of the names, computed once for a list. */
export const digestOfNames = oncePerObject((names: SortedNames) => sha256Hex(names.join('\n')).slice(0, 32));

function merge(names: SortedNames, come: SortedNames): SortedNames {
  const merged: string[] = [];
  let from = 0;
  for (const name of come) {
    const to = placeOf(names, name);
    for (const kept of names.slice(from, to)) merged.push(kept);
    merged.push(name);
    from = to;
  }
  for (const kept of names.slice(from)) merged.push(kept);
  return merged;
}

/** Where the name is, or would be. */
function placeOf(names: SortedNames, name: string): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((names[middle] ?? '') < name) low = middle + 1;
    else high = middle;
  }
  return low;
}
