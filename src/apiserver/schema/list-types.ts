import { isObject } from '#kit/json.ts';
import { duplicateValue, type FieldError, invalidValue } from '../field-error.ts';
import { memberSchema, type Schema } from './schema.ts';

/**
 * Judges `x-kubernetes-list-type`: items of a set, and keys of a map's items, come once; a map's items are objects.
 * Beside what the schema says of types (apiextensions' listtype.ValidateListSetsAndMaps).
 */
export function validateListTypes(schema: Schema, value: unknown, at = ''): FieldError[] {
  const errors: FieldError[] = [];
  visit(schema, value, at, errors);
  return errors;
}

const known = new WeakMap<Schema, boolean>();

/** True for a schema with sets or keyed lists at or below it: the only ones worth walking into. */
function concerns(schema: Schema): boolean {
  let answer = known.get(schema);
  if (answer === undefined) {
    const { items, additionalProperties: rest } = schema;
    const below = [...Object.values(schema.properties ?? {}), ...(items === undefined ? [] : [items])];
    if (typeof rest === 'object') below.push(rest);
    answer = schema['x-kubernetes-list-type'] !== undefined || below.some(concerns);
    known.set(schema, answer);
  }
  return answer;
}

function visit(schema: Schema, value: unknown, at: string, errors: FieldError[]): void {
  if (!concerns(schema)) return;
  if (Array.isArray(value)) visitList(schema, value, at, errors);
  else if (isObject(value))
    for (const key of Object.keys(value)) {
      const member = memberSchema(schema, key);
      if (member === undefined) continue;
      const named = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
      const below = named ? (at === '' ? key : `${at}.${key}`) : `${at}[${key}]`;
      visit(member, value[key], below, errors);
    }
}

function visitList(schema: Schema, list: readonly unknown[], at: string, errors: FieldError[]): void {
  const type = schema['x-kubernetes-list-type'];
  const { items } = schema;
  if (type === 'set') checkOnce(list, at, errors);
  else if (type === 'map') checkMap(schema['x-kubernetes-list-map-keys'] ?? [], list, at, errors);
  if (items !== undefined)
    for (const [index, item] of list.entries()) visit(items, item, `${at}[${index}]`, errors);
}

function checkMap(keys: readonly string[], list: readonly unknown[], at: string, errors: FieldError[]): void {
  const wrong = list.findIndex((item) => item !== null && !isObject(item));
  if (wrong < 0) {
    const identities = list.map((item) => identityOf(item, keys));
    checkOnce(identities, at, errors);
    return;
  }
  const message = 'must be an object for an array of list-type map';
  errors.push(invalidValue(`${at}[${wrong}]`, list[wrong], message));
}

function identityOf(item: unknown, keys: readonly string[]): Record<string, unknown> {
  const identity: Record<string, unknown> = {};
  if (isObject(item))
    for (const key of [...keys].sort()) if (item[key] !== undefined) identity[key] = item[key];
  return identity;
}

/** Names the second of equal values; a third is not named again. */
function checkOnce(values: readonly unknown[], at: string, errors: FieldError[]): void {
  const seen = new Map<string, number>();
  for (const [index, value] of values.entries()) {
    const text = JSON.stringify(value);
    const times = seen.get(text) ?? 0;
    seen.set(text, times + 1);
    if (times === 1) errors.push(duplicateValue(`${at}[${index}]`, value));
  }
}
