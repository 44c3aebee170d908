import { isObject } from '#kit/json.ts';
import { setOwn } from '../object.ts';
import { memberSchema, type Schema } from './schema.ts';

/**
 * A JSON value as CEL sees it under its schema: integers as int, numbers as double, date-time as timestamp,
 * byte as bytes. Where the schema says nothing, whole numbers are ints.
 */
export function toCel(schema: Schema | undefined, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => toCel(schema?.items, item));
  if (isObject(value)) return toCelObject(schema, value);
  if (typeof value === 'number')
    return schema?.type === 'number' || !Number.isSafeInteger(value) ? value : BigInt(value);
  if (typeof value !== 'string') return value;
  if (schema?.format === 'date-time') return dateOr(value);
  return schema?.format === 'byte' ? new Uint8Array(Buffer.from(value, 'base64')) : value;
}

function toCelObject(schema: Schema | undefined, value: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const named = schema?.properties !== undefined && Object.hasOwn(schema.properties, key);
    setOwn(result, named ? escapeName(key) : key, toCel(memberSchema(schema, key), value[key]));
  }
  return result;
}

function dateOr(value: string): unknown {
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? value : date;
}

const keywords = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** The name of a field inside a rule (Kubernetes' escaping for CEL). */
export function escapeName(name: string): string {
  let escaped = escapes.get(name);
  if (escaped === undefined) {
    escaped = escapeOnce(name);
    escapes.set(name, escaped);
  }
  return escaped;
}

/** Only names that schemas give come here, so this stays small. */
const escapes = new Map<string, string>();

function escapeOnce(name: string): string {
  if (keywords.has(name)) return `__${name}__`;
  return name
    .replaceAll('__', '__underscores__')
    .replaceAll('.', '__dot__')
    .replaceAll('-', '__dash__')
    .replaceAll('/', '__slash__');
}
