export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/**
 * JSON with the keys of every object sorted by UTF-16 code units and no white space.
 * Equal values give equal strings; the base of body hashes and spec digests.
 * Members whose value is undefined are left out, as JSON.stringify does.
 */
export function canonicalJson(value: unknown): string {
  // One native call for what is in order already, as most of what is sent is.
  return isInOrder(value) ? JSON.stringify(value) : sortedJson(value);
}

/** Whether JSON.stringify writes a value in canonical form: plain data whose objects have their keys in order. */
function isInOrder(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return isPrimitive(value);
  if (Array.isArray(value)) return value.every((item) => item === undefined || isInOrder(item));
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  let before: string | undefined;
  for (const key in value) {
    if (before !== undefined && key < before) return false;
    const member = (value as Record<string, unknown>)[key];
    if (member !== undefined && !isInOrder(member)) return false;
    before = key;
  }
  return true;
}

function isPrimitive(value: unknown): boolean {
  return (
    value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
  );
}

function sortedJson(value: unknown): string {
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null';
  if (Array.isArray(value)) return `[${value.map((item) => sortedJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  let members = '';
  for (const key of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[key];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${sortedJson(member)}`;
  }
  return `{${members}}`;
}

/** True for `{…}`: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The same object without members that are undefined. */
export function withoutUndefined<T extends object>(object: T): T {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;
}
