import { isObject } from '#kit/json.ts';
import {
  type FieldError,
  invalidType,
  invalidValue,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../field-error.ts';
import { equalJson } from '../object.ts';
import { correlate } from './correlate.ts';
import { formatProblem } from './formats.ts';
import { memberSchema, type Schema } from './schema.ts';

/**
 * Judges a value by its structural schema. The texts are those of the API server (go-openapi's validate).
 * What equals its counterpart in `old` is not judged again (validation ratcheting): a tightened schema
 * must not lock existing objects.
 */
export function validateValue(schema: Schema, value: unknown, at: string, old?: unknown): FieldError[] {
  const errors: FieldError[] = [];
  visit(schema, value, at, errors, old);
  return errors;
}

function visit(schema: Schema, value: unknown, at: string, errors: FieldError[], old: unknown): void {
  if (value === null && schema.nullable === true) return;
  if (old !== undefined && equalJson(value, old)) return;
  const typeError = checkType(schema, value, at);
  if (typeError !== undefined) {
    errors.push(typeError);
    checkEnum(schema, value, at, errors);
    if (typeof value === 'number') checkNumber(schema, value, at, errors);
    return;
  }
  checkEnum(schema, value, at, errors);
  if (typeof value === 'string') checkString(schema, value, at, errors);
  else if (typeof value === 'number') checkNumber(schema, value, at, errors);
  else if (Array.isArray(value)) checkList(schema, value, at, errors, old);
  else if (isObject(value)) checkObject(schema, value, at, errors, old);
  checkCombinations(schema, value, at, errors);
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value;
}

function checkType(schema: Schema, value: unknown, at: string): FieldError | undefined {
  if (schema['x-kubernetes-int-or-string'] === true) {
    if (typeof value === 'string' || Number.isInteger(value)) return undefined;
    const actual = typeName(value);
    return invalidType(at, actual, `${at} in body must be of type integer,string: ${JSON.stringify(actual)}`);
  }
  if (schema.type === undefined) return undefined;
  const actual = typeName(value);
  if (actual === schema.type || (schema.type === 'number' && actual === 'integer')) return undefined;
  const textual = typeof value === 'string' || Array.isArray(value);
  // A list where a text with a format belongs passes, as it does in the API server's library.
  if (schema.format !== undefined && textual && schema.type === 'string') return undefined;
  if (schema.format !== undefined && !textual && value !== null) {
    const format = actual === 'integer' ? 'int64' : actual === 'number' ? 'float64' : '';
    return invalidType(
      at,
      format,
      `${at} in body must be of type ${schema.format}: ${JSON.stringify(format)}`,
    );
  }
  return invalidType(at, actual, `${at} in body must be of type ${schema.type}: ${JSON.stringify(actual)}`);
}

function checkEnum(schema: Schema, value: unknown, at: string, errors: FieldError[]): void {
  if (schema.enum === undefined || schema.enum.some((one) => equalJson(one, value))) return;
  errors.push(notSupported(at, value, schema.enum));
}

/** Length and pattern: the first that fails. The format on its own. */
function checkString(schema: Schema, value: string, at: string, errors: FieldError[]): void {
  const length = [...value].length;
  if (schema.maxLength !== undefined && length > schema.maxLength) errors.push(tooLong(at, schema.maxLength));
  else if (schema.minLength !== undefined && length < schema.minLength)
    errors.push(invalidValue(at, value, `${at} in body should be at least ${schema.minLength} chars long`));
  else if (schema.pattern !== undefined && !regexOf(schema.pattern).test(value))
    errors.push(invalidValue(at, value, `${at} in body should match '${schema.pattern}'`));
  const problem = schema.format === undefined ? undefined : formatProblem(schema.format, value);
  if (problem !== undefined)
    errors.push(invalidType(at, value, `${at} in body must be of type ${problem}: ${JSON.stringify(value)}`));
}

const regexes = new Map<string, RegExp>();

function regexOf(pattern: string): RegExp {
  let regex = regexes.get(pattern);
  if (regex === undefined) {
    regex = new RegExp(pattern, 'u');
    regexes.set(pattern, regex);
  }
  return regex;
}

function checkNumber(schema: Schema, value: number, at: string, errors: FieldError[]): void {
  const { minimum, maximum, multipleOf } = schema;
  const below =
    minimum !== undefined && (schema.exclusiveMinimum === true ? value <= minimum : value < minimum);
  const above =
    maximum !== undefined && (schema.exclusiveMaximum === true ? value >= maximum : value > maximum);
  const word = (exclusive: boolean | undefined) => (exclusive === true ? '' : ' or equal to');
  if (above) {
    const text = schema.exclusiveMaximum === true ? 'less than' : 'less than or equal to';
    errors.push(invalidValue(at, value, `${at} in body should be ${text} ${maximum}`));
  }
  if (below)
    errors.push(
      invalidValue(
        at,
        value,
        `${at} in body should be greater than${word(schema.exclusiveMinimum)} ${minimum}`,
      ),
    );
  if (schema.type === 'integer' && !fitsFormat(schema.format, value)) {
    const format = schema.format === undefined ? '(default format)' : `with format ${schema.format}`;
    errors.push(invalidValue('', '', `Checked value must be of type integer ${format} in ${at}`));
  }
  if (multipleOf !== undefined && !Number.isInteger(value / multipleOf))
    errors.push(invalidValue(at, value, `${at} in body should be a multiple of ${multipleOf}`));
}

function fitsFormat(format: string | undefined, value: number): boolean {
  const bits = format === 'int32' ? 31 : 63;
  return Number.isInteger(value) && value >= -(2 ** bits) && value < 2 ** bits;
}

function checkList(
  schema: Schema,
  value: readonly unknown[],
  at: string,
  errors: FieldError[],
  old: unknown,
): void {
  if (schema.maxItems !== undefined && value.length > schema.maxItems)
    errors.push(tooMany(at, value.length, schema.maxItems));
  if (schema.minItems !== undefined && value.length < schema.minItems)
    errors.push(
      invalidValue(at, value.length, `${at} in body should have at least ${schema.minItems} items`),
    );
  const items = schema.items;
  const match = correlate(schema, old);
  if (items !== undefined)
    for (const [index, item] of value.entries()) visit(items, item, `${at}[${index}]`, errors, match(item));
}

function checkObject(
  schema: Schema,
  value: Record<string, unknown>,
  at: string,
  errors: FieldError[],
  old: unknown,
): void {
  const before = isObject(old) ? old : {};
  const count = Object.keys(value).length;
  if (schema.maxProperties !== undefined && count > schema.maxProperties)
    errors.push(tooMany(at, count, schema.maxProperties));
  if (schema.minProperties !== undefined && count < schema.minProperties)
    errors.push(
      invalidValue(at, count, `${at} in body should have at least ${schema.minProperties} properties`),
    );
  for (const name of schema.required ?? [])
    if (value[name] === undefined) errors.push(required(join(at, name)));
  for (const key of Object.keys(value)) {
    const member = memberSchema(schema, key);
    if (member !== undefined) visit(member, value[key], join(at, key), errors, before[key]);
  }
}

/** allOf, anyOf, oneOf, not: value validations only, as structural schemas allow. */
function checkCombinations(schema: Schema, value: unknown, at: string, errors: FieldError[]): void {
  const failed = (one: Schema) => validateValue(one, value, at).length > 0;
  for (const one of schema.allOf ?? []) visit(one, value, at, errors, undefined);
  if (schema.anyOf?.every(failed))
    errors.push(invalidValue(at, value, `${at} in body must validate at least one schema (anyOf)`));
  if (schema.oneOf !== undefined && schema.oneOf.filter((one) => !failed(one)).length !== 1)
    errors.push(invalidValue(at, value, `${at} in body must validate one and only one schema (oneOf)`));
  if (schema.not !== undefined && !failed(schema.not))
    errors.push(invalidValue(at, value, `${at} in body must not validate the schema (not)`));
}

function join(at: string, name: string): string {
  return at === '' ? name : `${at}.${name}`;
}
