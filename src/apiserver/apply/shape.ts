import { isObject } from '#kit/json.ts';
import type { Schema } from '../schema/schema.ts';

/** How a value merges: as a whole, member by member, or item by item. */
export type Shape = 'leaf' | 'map' | 'list';

/**
 * The shape that the schema gives to a value (structured-merge-diff's reading of the x-kubernetes extensions).
 * Without a schema, objects merge by member and lists as a whole.
 */
export function shapeOf(schema: Schema | undefined, value: unknown): Shape {
  if (isObject(value)) return schema?.['x-kubernetes-map-type'] === 'atomic' ? 'leaf' : 'map';
  if (!Array.isArray(value)) return 'leaf';
  const type = schema?.['x-kubernetes-list-type'];
  return type === 'set' || type === 'map' ? 'list' : 'leaf';
}

/** The schema of an object's member; undefined means that it is deduced from the value. */
export function memberOf(schema: Schema | undefined, key: string): Schema | undefined {
  const properties = schema?.properties;
  if (properties !== undefined && Object.hasOwn(properties, key)) return properties[key];
  const rest = schema?.additionalProperties;
  return typeof rest === 'object' ? rest : undefined;
}

/** True for members that the schema names; others are entries of a map, which are owned themselves. */
export function isNamed(schema: Schema | undefined, key: string): boolean {
  return schema?.properties !== undefined && Object.hasOwn(schema.properties, key);
}

/** The path element of a list's item: its keys for a map list, its value for a set. */
export function elementOf(schema: Schema | undefined, item: unknown): string {
  if (schema?.['x-kubernetes-list-type'] === 'set') return `v:${goJson(item)}`;
  const keys: Record<string, unknown> = {};
  for (const key of [...(schema?.['x-kubernetes-list-map-keys'] ?? [])].sort()) {
    const value =
      isObject(item) && item[key] !== undefined ? item[key] : schema?.items?.properties?.[key]?.default;
    if (value !== undefined) keys[key] = value;
  }
  return `k:${goJson(keys)}`;
}

/** JSON as Go writes it: characters that mean something in HTML are escaped. */
function goJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
