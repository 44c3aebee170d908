import { isObject } from '#kit/json.ts';
import { ApiError } from '../api-error.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Schema } from '../schema/schema.ts';
import { showPath } from './field-set.ts';
import { elementOf, shapeOf } from './shape.ts';

/**
 * Throws what the API server answers (500, without a reason) when a configuration to apply does not fit the
 * schema: a field that it does not declare, or a value of another type.
 */
export function checkDeclared(kind: Kind, configuration: unknown): void {
  if (!isObject(configuration)) return;
  const problems: string[] = [];
  visit(kind.schema, configuration, '', problems);
  if (problems.length === 0) return;
  const metadata = isObject(configuration['metadata']) ? configuration['metadata'] : {};
  const place = `${String(metadata['namespace'] ?? '')}/${String(metadata['name'] ?? '')}`;
  const list = problems.length === 1 ? problems[0] : `errors:\n  ${problems.join('\n  ')}`;
  throw new ApiError(
    'Unknown',
    `failed to create typed patch object (${place}; ${kind.group}/${kind.version}, Kind=${kind.kind}): ${list}`,
  );
}

/** True when a member of an object fits its schema as far as owners of its fields can be noted. */
export function isTyped(kind: Kind, member: string, object: Record<string, unknown>): boolean {
  const schema = kind.schema.properties?.[member];
  if (schema === undefined || object[member] === undefined) return true;
  const problems: string[] = [];
  visit(schema, object[member], member, problems);
  return problems.length === 0;
}

function visit(schema: Schema, value: unknown, at: string, problems: string[]): void {
  if (value === null || schema['x-kubernetes-int-or-string'] === true) return;
  const expected = mismatch(schema, value);
  if (expected !== undefined) problems.push(`${at}: expected ${expected}, got ${nameOf(value)}`);
  else if (Array.isArray(value)) {
    const { items } = schema;
    checkElements(schema, value, at, problems);
    if (items !== undefined)
      for (const [index, item] of value.entries()) visit(items, item, `${at}[${index}]`, problems);
  } else if (isObject(value)) visitMembers(schema, value, at, problems);
}

/** Items of a list that merges by key or as a set: each must have its key, and none may come twice. */
function checkElements(schema: Schema, list: readonly unknown[], at: string, problems: string[]): void {
  if (shapeOf(schema, list) !== 'list') return;
  const keyed = schema['x-kubernetes-list-type'] === 'map';
  const seen = new Set<string>();
  for (const [index, item] of list.entries()) {
    const element = elementOf(schema, item);
    if (keyed && (!isObject(item) || element === 'k:{}'))
      problems.push(
        `${at}: element ${index}: associative list with keys has an element that omits all key fields`,
      );
    else if (!keyed && (item === null || typeof item === 'object'))
      problems.push(
        `${at}: element ${index}: associative list without keys has an element that is no scalar`,
      );
    else if (seen.has(element)) problems.push(`${at}: duplicate entries for key ${showPath([element])}`);
    seen.add(element);
  }
}

function visitMembers(schema: Schema, value: Record<string, unknown>, at: string, problems: string[]): void {
  const rest = schema.additionalProperties;
  const open =
    schema['x-kubernetes-preserve-unknown-fields'] === true || rest === true || schema.type === undefined;
  for (const [key, member] of Object.entries(value)) {
    const properties = schema.properties;
    const named = properties !== undefined && Object.hasOwn(properties, key) ? properties[key] : undefined;
    const own = named ?? (typeof rest === 'object' ? rest : undefined);
    if (own !== undefined) visit(own, member, `${at}.${key}`, problems);
    else if (!open) problems.push(`${at}.${key}: field not declared in schema`);
  }
}

function mismatch({ type, format = '' }: Schema, value: unknown): string | undefined {
  // A text with a format may be any scalar here: only validation knows what fits the format.
  if (type === 'string' && format !== '' && format !== 'byte')
    return typeof value === 'object' ? 'any scalar' : undefined;
  if (type === 'integer' || type === 'number')
    return typeof value === 'number' ? undefined : 'numeric (int or float)';
  if (type === 'string') return typeof value === 'string' ? undefined : 'string';
  if (type === 'boolean') return typeof value === 'boolean' ? undefined : 'boolean';
  if (type === 'array') return Array.isArray(value) ? undefined : 'list';
  return type === 'object' && !isObject(value) ? 'map' : undefined;
}

function nameOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  if (isObject(value)) return 'map';
  return typeof value === 'number' ? (Number.isInteger(value) ? 'int' : 'float') : typeof value;
}
