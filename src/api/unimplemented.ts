import { isObject } from '#kit/json.ts';
import { type FieldError, joinPath } from './field-error.ts';
import { type KindName, kinds } from './kinds.ts';
import type { JsonSchema } from './schema/json-schema.ts';
import { schemaOf } from './validate.ts';

/**
 * The fields of a spec, its defaults filled in, that this version knows and does nothing with. Not empty: the
 * object gets Accepted=False with reason NotImplemented. A field that has its default, or is an empty list,
 * asks for nothing and is not among them.
 */
export function unimplementedFields(kind: KindName, spec: unknown): FieldError[] {
  const { unimplemented } = kinds[kind];
  if (unimplemented !== undefined) return [{ path: 'spec', message: unimplemented }];
  return unimplementedBelow(spec, schemaOf(kinds[kind]), 'spec');
}

function unimplementedBelow(value: unknown, schema: JsonSchema, path: string): FieldError[] {
  if (asksForNothing(value, schema)) return [];
  if (schema['x-ploinky-implemented'] === false) {
    return [{ path, message: 'is not implemented yet; remove it' }];
  }
  if (schema['x-ploinky-not-implemented-values']?.some((unimplemented) => unimplemented === value)) {
    return [{ path, message: `${String(value)} is not implemented yet; choose another value` }];
  }
  return childValues(value, schema).flatMap(([step, child, childSchema]) =>
    unimplementedBelow(child, childSchema, joinPath(path, [step])),
  );
}

function asksForNothing(value: unknown, schema: JsonSchema): boolean {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return true;
  return typeof value !== 'object' && value === schema.default;
}

function childValues(
  value: unknown,
  schema: JsonSchema,
): (readonly [string | number, unknown, JsonSchema])[] {
  const { items, properties, additionalProperties } = schema;
  if (Array.isArray(value) && items !== undefined)
    return value.map((item, index) => [index, item, items] as const);
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const child =
      properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
    return child === undefined ? [] : [[name, member, child] as const];
  });
}
