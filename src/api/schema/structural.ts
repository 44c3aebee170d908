import { fullDescription, type JsonSchema } from './json-schema.ts';

const int32Max = 2_147_483_647;

/** Members that mean the same in JSON Schema and in a structural schema. */
const kept = [
  'type',
  'default',
  'enum',
  'format',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'maxProperties',
  'pattern',
  'required',
  'x-kubernetes-validations',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-preserve-unknown-fields',
] as const;

/**
 * The structural OpenAPI v3 schema of apiextensions.k8s.io/v1 that accepts what `schema` accepts, or more:
 * names of map members, alternatives of types and byte counts cannot be said there.
 */
export function structuralSchema(schema: JsonSchema): JsonSchema {
  const description = fullDescription(schema);
  const head = description === undefined ? {} : { description };
  if (schema['x-kubernetes-int-or-string'] === true) return { ...head, ...intOrString(schema) };
  if (schema.anyOf !== undefined) return { ...head, ...alternatives(schema.anyOf) };
  const { properties, items, additionalProperties } = schema;
  return {
    ...head,
    ...Object.fromEntries(
      kept.filter((name) => schema[name] !== undefined).map((name) => [name, schema[name]]),
    ),
    ...(schema.const === undefined ? {} : { enum: [schema.const] }),
    ...(schema.type === 'integer' ? { format: integerFormat(schema) } : {}),
    ...(properties === undefined ? {} : { properties: mapValues(properties, structuralSchema) }),
    ...(items === undefined ? {} : { items: structuralSchema(items) }),
    ...(isMapOf(additionalProperties) && !schema['x-kubernetes-preserve-unknown-fields']
      ? { additionalProperties: structuralSchema(additionalProperties) }
      : {}),
  };
}

function isMapOf(additional: JsonSchema | boolean | undefined): additional is JsonSchema {
  return typeof additional === 'object';
}

function integerFormat({ maximum, minimum }: JsonSchema): string {
  const fits = maximum !== undefined && maximum <= int32Max && minimum !== undefined && minimum >= -int32Max;
  return fits ? 'int32' : 'int64';
}

/** Kubernetes' own type for a quantity; text is bounded and matched, numbers are not. */
function intOrString({ anyOf = [] }: JsonSchema): JsonSchema {
  const asText = anyOf.find(({ type }) => type === 'string');
  return {
    'x-kubernetes-int-or-string': true,
    ...(asText?.maxLength === undefined ? {} : { maxLength: asText.maxLength }),
    ...(asText?.pattern === undefined ? {} : { pattern: asText.pattern }),
  };
}

/**
 * A structural schema has no alternatives of types: the field takes anything, and each alternative's bounds
 * apply to values of its type. What is left over is judged when the object is parsed.
 */
function alternatives(anyOf: readonly JsonSchema[]): JsonSchema {
  const bounds = anyOf.flatMap((alternative) =>
    (['minLength', 'maxLength', 'minItems', 'maxItems'] as const)
      .filter((name) => alternative[name] !== undefined)
      .map((name) => [name, alternative[name]]),
  );
  return { 'x-kubernetes-preserve-unknown-fields': true, ...Object.fromEntries(bounds) };
}

function mapValues(
  members: Readonly<Record<string, JsonSchema>>,
  convert: (schema: JsonSchema) => JsonSchema,
): Record<string, JsonSchema> {
  return Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, convert(schema)]));
}
