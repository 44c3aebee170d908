import { isObject } from '#kit/json.ts';

export type JsonSchema = Record<string, unknown>;

const draft7 = 'http://json-schema.org/draft-07/schema#';
const knownTypes = new Set(['string', 'number', 'boolean', 'array', 'object']);

/**
 * A tool's arguments as JSON Schema of type object, whichever of Ploinky's three forms they are given in:
 * JSON Schema in `inputSchema` (recognised by `type: object`) or in `input`, or a field map in `inputSchema`.
 * `strips`: unknown arguments are dropped instead of refused, as the field map promises.
 */
export function readInputSchema(
  inputSchema: unknown,
  input: unknown,
): { schema: JsonSchema; strips: boolean } {
  if (isJsonSchema(inputSchema)) return { schema: inputSchema, strips: false };
  if (isJsonSchema(input)) return { schema: input, strips: false };
  const fields = isObject(inputSchema) ? inputSchema : isObject(input) ? input : {};
  return { schema: { ...objectSchema(fields), $schema: draft7 }, strips: true };
}

function isJsonSchema(value: unknown): value is JsonSchema {
  if (!isObject(value) || value['type'] !== 'object') return false;
  return value['properties'] === undefined || isObject(value['properties']);
}

function objectSchema(fields: Record<string, unknown>, additional = false): JsonSchema {
  const entries = Object.entries(fields);
  const required = entries.filter(([, field]) => !isOptional(field)).map(([name]) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, field]) => [name, fieldSchema(field)])),
    ...(required.length > 0 && { required }),
    additionalProperties: additional,
  };
}

function isOptional(field: unknown): boolean {
  return isObject(field) && field['optional'] === true;
}

function fieldSchema(field: unknown): JsonSchema {
  const spec = typeof field === 'string' ? { type: field } : isObject(field) ? field : {};
  const base = typeSchema(spec);
  const list = spec['isArray'] === true ? { type: 'array', items: base, ...arrayBounds(spec) } : base;
  const described =
    typeof spec['description'] === 'string' ? { ...list, description: spec['description'] } : list;
  return spec['nullable'] === true ? nullable(described) : described;
}

function typeSchema(spec: Record<string, unknown>): JsonSchema {
  const type = spec['type'];
  const values = Array.isArray(spec['enum']) && spec['enum'].length > 0 ? { enum: spec['enum'] } : {};
  if (typeof type !== 'string' || !knownTypes.has(type)) return values;
  if (type === 'string') return { type, ...values, ...pick(spec, ['minLength', 'maxLength']) };
  if (type === 'number') return { type, ...values, ...renamed(spec, { min: 'minimum', max: 'maximum' }) };
  if (type === 'array') return { type, items: itemsSchema(spec['items']), ...arrayBounds(spec) };
  if (type === 'object') return nestedObject(spec);
  return { type, ...values };
}

function itemsSchema(items: unknown): JsonSchema {
  return items === undefined ? { type: 'string' } : fieldSchema(items);
}

function nestedObject(spec: Record<string, unknown>): JsonSchema {
  const additional = spec['additionalProperties'] === true;
  if (isObject(spec['properties'])) return objectSchema(spec['properties'], additional);
  return { type: 'object', properties: {}, additionalProperties: additional };
}

function arrayBounds(spec: Record<string, unknown>): JsonSchema {
  return pick(spec, ['minItems', 'maxItems']);
}

function nullable(schema: JsonSchema): JsonSchema {
  const type = schema['type'];
  if (typeof type !== 'string') return schema;
  const values = Array.isArray(schema['enum']) ? { enum: [...schema['enum'], null] } : {};
  return { ...schema, type: [type, 'null'], ...values };
}

function pick(spec: Record<string, unknown>, names: readonly string[]): JsonSchema {
  return renamed(spec, Object.fromEntries(names.map((name) => [name, name])));
}

function renamed(spec: Record<string, unknown>, names: Record<string, string>): JsonSchema {
  return Object.fromEntries(
    Object.entries(names).flatMap(([from, to]) => (typeof spec[from] === 'number' ? [[to, spec[from]]] : [])),
  );
}
