import { isObject } from '#kit/json.ts';
import { cloneJson, setOwn } from '../object.ts';
import type { Schema } from './schema.ts';

/**
 * Fills in schema defaults in place, from the outside in, so that a default's own members get theirs.
 * A null where the schema is not nullable counts as absent, unless `dropNulls` is false.
 */
export function applyDefaults(schema: Schema, value: unknown, dropNulls = true): void {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items !== undefined) for (const item of value) applyDefaults(items, item, dropNulls);
  } else if (isObject(value)) {
    defaultMembers(schema, value, dropNulls);
  }
}

function defaultMembers(schema: Schema, value: Record<string, unknown>, dropNulls: boolean): void {
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    const isNull = value[key] === null && member.nullable !== true;
    if (member.default !== undefined && (isNull || value[key] === undefined))
      setOwn(value, key, cloneJson(member.default));
    else if (isNull && dropNulls) delete value[key];
  }
  const rest = typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined;
  for (const key of Object.keys(value)) {
    const properties = schema.properties;
    const member = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : rest;
    const isNull = value[key] === null && member?.nullable !== true;
    if (isNull && member !== undefined && member === rest && dropNulls) delete value[key];
    else if (member !== undefined) applyDefaults(member, value[key], dropNulls);
  }
}
