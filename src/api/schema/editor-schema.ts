import { apiVersion } from '../group.ts';
import type { Kind } from '../kinds.ts';
import { fullDescription, type JsonSchema, jsonSchemaOf } from './json-schema.ts';

/** JSON Schema (draft-07) of a whole object, for editors: it also refuses unknown fields. */
export function editorSchema(kind: Kind): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: kind.resource.kind,
    description: kind.description,
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    additionalProperties: false,
    properties: {
      apiVersion: { const: apiVersion },
      kind: { const: kind.resource.kind },
      metadata: metadataSchema(kind),
      spec: withoutExtensions(jsonSchemaOf(kind.spec)),
      status: { type: 'object', description: 'Written by the controller.' },
    },
  };
}

function metadataSchema({ maxNameLength, namePattern }: Kind): JsonSchema {
  const text = { type: 'object', additionalProperties: { type: 'string' } };
  return {
    type: 'object',
    required: ['name'],
    properties: {
      name: {
        type: 'string',
        maxLength: maxNameLength,
        pattern: namePattern.source,
        description: 'Name of the object.',
      },
      namespace: { type: 'string', description: 'Namespace. Default: that of the context.' },
      labels: { ...text, description: 'Labels.' },
      annotations: { ...text, description: 'Annotations.' },
    },
  };
}

/** Takes Kubernetes' and our own members away; what they say for people goes into the description. */
function withoutExtensions(schema: JsonSchema): JsonSchema {
  const description = fullDescription(schema);
  const plain = Object.fromEntries(Object.entries(schema).filter(([name]) => !name.startsWith('x-')));
  const { properties, items, additionalProperties, anyOf } = schema;
  return {
    ...plain,
    ...(description === undefined ? {} : { description }),
    ...(properties === undefined ? {} : { properties: eachMember(properties) }),
    ...(items === undefined ? {} : { items: withoutExtensions(items) }),
    ...(typeof additionalProperties === 'object'
      ? { additionalProperties: withoutExtensions(additionalProperties) }
      : {}),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(withoutExtensions) }),
  };
}

function eachMember(members: Readonly<Record<string, JsonSchema>>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(members).map(([name, member]) => [name, withoutExtensions(member)]),
  );
}
