import { canonicalJson, isObject } from '#kit/json.ts';

/**
 * True when writing `desired` over `current` would change nothing, so that the write is not sent.
 * `owned` limits the comparison to those top-level fields, for a status that several managers share.
 * Members that are undefined count as absent; lists of `{type: …}` (conditions) are compared by type, not order,
 * because the API keeps its own.
 */
export function sameStatus(current: object | undefined, desired: object, owned?: readonly string[]): boolean {
  return canonicalJson(comparable(current ?? {}, owned)) === canonicalJson(comparable(desired, owned));
}

function comparable(status: object, owned: readonly string[] | undefined): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(status)) {
    if (owned === undefined || owned.includes(name)) result[name] = sortByType(value);
  }
  return result;
}

function sortByType(value: unknown): unknown {
  if (!Array.isArray(value) || !value.every(hasType)) return value;
  return value.toSorted((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : 0));
}

function hasType(value: unknown): value is { type: string } {
  return isObject(value) && typeof value['type'] === 'string';
}
