import { isObject } from '#kit/json.ts';
import type { Agent } from './agent.ts';
import type { FieldError } from './field-error.ts';
import { apiVersion } from './group.ts';
import { type Kind, type KindName, kinds } from './kinds.ts';
import type { Route } from './route.ts';
import { type JsonSchema, jsonSchemaOf } from './schema/json-schema.ts';
import { fieldErrors } from './schema/messages.ts';
import type { Task } from './task.ts';

interface Objects {
  Agent: Agent;
  Route: Route;
  Task: Task;
}

export type Parsed<T> =
  | { readonly ok: true; readonly object: T }
  | { readonly ok: false; readonly errors: readonly FieldError[] };

/** Everything that is wrong with an Agent; empty when nothing is. Status is not looked at. */
export function validateAgent(object: unknown): FieldError[] {
  return validateObject('Agent', object);
}

/** Everything that is wrong with a Route; empty when nothing is. */
export function validateRoute(object: unknown): FieldError[] {
  return validateObject('Route', object);
}

/** Everything that is wrong with a Task; empty when nothing is. */
export function validateTask(object: unknown): FieldError[] {
  return validateObject('Task', object);
}

export function validateObject(kind: KindName, object: unknown): FieldError[] {
  const parsed = parseObject(kind, object);
  return parsed.ok ? [] : [...parsed.errors];
}

/**
 * Checks an object of ours and fills in the defaults of its spec. Metadata and status come through as they
 * are. It checks what the API server checks, and what a CRD cannot say (names of map members, sizes in bytes).
 */
export function parseObject<K extends KindName>(name: K, object: unknown): Parsed<Objects[K]> {
  const kind = kinds[name];
  if (!isObject(object)) return { ok: false, errors: [{ path: name, message: 'must be an object' }] };
  const envelope = [...envelopeErrors(object, kind), ...metadataErrors(object['metadata'], kind)];
  const spec = kind.spec.safeParse(object['spec']);
  const errors = spec.success
    ? envelope
    : [...envelope, ...fieldErrors(spec.error.issues, object['spec'], schemaOf(kind), 'spec')];
  if (!spec.success || errors.length > 0) return { ok: false, errors };
  // The envelope was checked above and the spec came out of the kind's own schema.
  return { ok: true, object: { ...object, spec: spec.data } as unknown as Objects[K] };
}

const schemas = new WeakMap<Kind, JsonSchema>();

/** JSON Schema of a kind's spec, made once. */
export function schemaOf(kind: Kind): JsonSchema {
  const known = schemas.get(kind) ?? jsonSchemaOf(kind.spec);
  schemas.set(kind, known);
  return known;
}

const members = ['apiVersion', 'kind', 'metadata', 'spec', 'status'];

function envelopeErrors(object: Record<string, unknown>, { resource }: Kind): FieldError[] {
  const errors: FieldError[] = [];
  if (object['apiVersion'] !== apiVersion)
    errors.push({ path: 'apiVersion', message: `must be ${apiVersion}` });
  if (object['kind'] !== resource.kind) errors.push({ path: 'kind', message: `must be ${resource.kind}` });
  for (const name of Object.keys(object)) {
    if (members.includes(name)) continue;
    const message = `is not a field of ${resource.kind}; it has ${members.join(', ')}`;
    errors.push({ path: name, message });
  }
  return errors;
}

function metadataErrors(metadata: unknown, { resource, maxNameLength, namePattern }: Kind): FieldError[] {
  const name = isObject(metadata) ? metadata['name'] : undefined;
  const path = 'metadata.name';
  if (typeof name !== 'string' || name === '')
    return [{ path, message: 'is required; give the object a name' }];
  if (name.length > maxNameLength) {
    return [{ path, message: `must be at most ${maxNameLength} characters; choose a shorter name` }];
  }
  if (namePattern.test(name)) return [];
  const dots = namePattern.test('a.b') ? '' : 'without dots, ';
  const message = `of ${resource.kind} must be lower-case letters, digits and "-", ${dots}and begin and end with a letter or digit`;
  return [{ path, message }];
}
