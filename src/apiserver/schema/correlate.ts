import { isObject } from '#kit/json.ts';
import type { Schema } from './schema.ts';

/**
 * Finds what an item of a list was before. Only lists whose items have keys (`x-kubernetes-list-type: map`) can
 * tell; for others the answer is always undefined.
 */
export function correlate(schema: Schema, old: unknown): (item: unknown) => unknown {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (!Array.isArray(old) || schema['x-kubernetes-list-type'] !== 'map' || keys === undefined)
    return () => undefined;
  const identity = (item: unknown) =>
    JSON.stringify(isObject(item) ? keys.map((key) => item[key] ?? null) : item);
  const items = new Map(old.map((item) => [identity(item), item]));
  return (item) => items.get(identity(item));
}
