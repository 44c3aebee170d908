import { isObject } from '#kit/json.ts';
import { type FieldError, joinPath } from './field-error.ts';
import type { JsonSchema } from './schema/json-schema.ts';

/** As `unimplementedFields`, by the JSON Schema of what is at the path, or by the marks of that. */
export function unimplementedBelow(value: unknown, schema: JsonSchema, path: string): FieldError[] {
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

/**
 * Of a schema only what marks fields as not implemented, and the way there: it says the same of every value and is
 * small enough to be kept beside the code that asks. Undefined when there is no mark.
 */
export function marksOf(schema: JsonSchema): JsonSchema | undefined {
  const marks = {
    ...pick(schema, 'x-ploinky-implemented', false),
    ...pick(schema, 'x-ploinky-not-implemented-values'),
  };
  const below = childMarks(schema);
  if (Object.keys(marks).length + Object.keys(below).length === 0) return undefined;
  return { ...marks, ...pick(schema, 'default'), ...below };
}

function childMarks({ items, properties = {}, additionalProperties }: JsonSchema): JsonSchema {
  const marked = Object.entries(properties).flatMap(([name, child]) => {
    const marks = marksOf(child);
    return marks === undefined ? [] : [[name, marks] as const];
  });
  const ofItems = items === undefined ? undefined : marksOf(items);
  const ofValues = typeof additionalProperties === 'object' ? marksOf(additionalProperties) : undefined;
  return {
    ...(marked.length > 0 && { properties: Object.fromEntries(marked) }),
    ...(ofItems !== undefined && { items: ofItems }),
    ...(ofValues !== undefined && { additionalProperties: ofValues }),
  };
}

function pick(schema: JsonSchema, member: string, only?: unknown): JsonSchema {
  const value = schema[member];
  return value === undefined || (only !== undefined && value !== only) ? {} : { [member]: value };
}
