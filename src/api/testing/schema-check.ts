import { isObject } from '#kit/json.ts';
import type { JsonSchema } from '../schema/json-schema.ts';

/**
 * Why `value` does not match a generated schema, as paths with a word; empty when it does. Knows the members
 * that the generated files use, in JSON Schema and in structural schemas; CEL rules are not looked at.
 */
export function mismatches(schema: JsonSchema, value: unknown, path = ''): string[] {
  if (schema.anyOf !== undefined) {
    const fits = schema.anyOf.some((alternative) => mismatches(alternative, value, path).length === 0);
    return fits ? [] : [`${path}: anyOf`];
  }
  if (schema['x-kubernetes-int-or-string']) {
    if (!Number.isInteger(value) && typeof value !== 'string') return [`${path}: int or string`];
  } else if (schema.type !== undefined && !hasType(value, schema.type))
    return [`${path}: type ${schema.type}`];
  if (schema.enum !== undefined && !schema.enum.includes(value)) return [`${path}: enum`];
  if (typeof value === 'string') return failing(path, stringChecks(schema, value));
  if (typeof value === 'number') return failing(path, numberChecks(schema, value));
  if (Array.isArray(value))
    return [...failing(path, arrayChecks(schema, value)), ...inItems(schema, value, path)];
  return isObject(value) ? inMembers(schema, value, path) : [];
}

function hasType(value: unknown, type: string): boolean {
  if (type === 'object') return isObject(value);
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  return typeof value === type;
}

type Checks = Readonly<Record<string, boolean>>;

function failing(path: string, checks: Checks): string[] {
  return Object.entries(checks).flatMap(([name, holds]) => (holds ? [] : [`${path}: ${name}`]));
}

function stringChecks(schema: JsonSchema, value: string): Checks {
  const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern = '' } = schema;
  const length = [...value].length;
  return {
    minLength: length >= minLength,
    maxLength: length <= maxLength,
    pattern: new RegExp(pattern).test(value),
  };
}

function numberChecks({ minimum = -Infinity, maximum = Infinity }: JsonSchema, value: number): Checks {
  return { minimum: value >= minimum, maximum: value <= maximum };
}

function arrayChecks({ minItems = 0, maxItems = Infinity }: JsonSchema, value: readonly unknown[]): Checks {
  return { minItems: value.length >= minItems, maxItems: value.length <= maxItems };
}

function inItems({ items }: JsonSchema, value: readonly unknown[], path: string): string[] {
  if (items === undefined) return [];
  return value.flatMap((item, index) => mismatches(items, item, `${path}[${index}]`));
}

function inMembers(schema: JsonSchema, value: Record<string, unknown>, path: string): string[] {
  const { properties = {}, additionalProperties, required = [], maxProperties = Infinity } = schema;
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => `${path}.${name}: required`);
  const tooMany = Object.keys(value).length > maxProperties ? [`${path}: maxProperties`] : [];
  const free = schema.type === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const wrong = Object.entries(value).flatMap(([name, member]) => {
    const child = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    if (typeof child === 'object') return mismatches(child, member, `${path}.${name}`);
    return child === true || free ? [] : [`${path}.${name}: unknown`];
  });
  return [...missing, ...tooMany, ...wrong];
}
