import { z } from 'zod';

/** JSON Schema as zod writes it, with this project's and Kubernetes' own members. */
export interface JsonSchema {
  readonly [member: string]: unknown;
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
  readonly anyOf?: readonly JsonSchema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly 'x-kubernetes-validations'?: readonly CelRule[];
  readonly 'x-kubernetes-list-type'?: 'atomic' | 'set' | 'map';
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-int-or-string'?: boolean;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
  /** False: nothing acts on the field yet. */
  readonly 'x-ploinky-implemented'?: boolean;
  /** Values of an enum that nothing acts on yet. */
  readonly 'x-ploinky-not-implemented-values'?: readonly string[];
}

export interface CelRule {
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

/** What people may write: fields with a default are optional, no references, no `$schema`. */
export function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  const { $schema: _$schema, ...rest } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
  return rest as JsonSchema;
}

/** Members that are other schemas, each with its name: properties by name, `[]` for items, `*` for map values. */
export function childrenOf(schema: JsonSchema): (readonly [name: string, child: JsonSchema])[] {
  const children: (readonly [string, JsonSchema])[] = Object.entries(schema.properties ?? {});
  if (schema.items !== undefined) children.push(['[]', schema.items]);
  if (typeof schema.additionalProperties === 'object') children.push(['*', schema.additionalProperties]);
  return children;
}

/** Adds to a description that the field is not carried out yet. */
export function fullDescription(schema: JsonSchema): string | undefined {
  const parts = [
    schema.description,
    schema['x-ploinky-implemented'] === false
      ? 'Not implemented yet: an object that sets it is not accepted.'
      : undefined,
    schema['x-ploinky-not-implemented-values'] === undefined
      ? undefined
      : `Not implemented yet: ${schema['x-ploinky-not-implemented-values'].join(', ')}.`,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(' ');
}
