import { isObject } from '#kit/json.ts';
import { setOwn } from '../object.ts';
import { memberSchema, type Schema } from './schema.ts';

/**
 * A copy of `value` without the members its schema does not know (structural pruning).
 * `unknown` collects their paths, `spec.list[0].extra`. Values of the wrong type are kept: validation names them.
 */
export function prune(schema: Schema, value: unknown, unknown: string[], at = ''): unknown {
  if (Array.isArray(value)) {
    if (schema['x-kubernetes-preserve-unknown-fields'] === true && schema.items === undefined) return value;
    const { items = {} } = schema;
    return value.map((item, index) => prune(items, item, unknown, `${at}[${index}]`));
  }
  if (!isObject(value)) return value;
  return pruneMembers(schema, value, unknown, at);
}

function pruneMembers(
  schema: Schema,
  value: Record<string, unknown>,
  unknown: string[],
  at: string,
): unknown {
  const keepsAll =
    schema['x-kubernetes-preserve-unknown-fields'] === true || schema.additionalProperties === true;
  const kept: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const path = at === '' ? key : `${at}.${key}`;
    const member = memberSchema(schema, key);
    if (member !== undefined) setOwn(kept, key, prune(member, value[key], unknown, path));
    else if (keepsAll || isTypeMember(schema, key)) setOwn(kept, key, value[key]);
    else unknown.push(path);
  }
  return kept;
}

function isTypeMember(schema: Schema, key: string): boolean {
  return (
    schema['x-kubernetes-embedded-resource'] === true &&
    (key === 'apiVersion' || key === 'kind' || key === 'metadata')
  );
}
