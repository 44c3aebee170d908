import { ApiError, type NamedKind, type StatusCause } from './api-error.ts';

/** A field of an object that is wrong: k8s.io/apimachinery's field.Error, with the same texts. */
export interface FieldError {
  readonly reason:
    | 'FieldValueInvalid'
    | 'FieldValueRequired'
    | 'FieldValueNotSupported'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueForbidden'
    | 'FieldValueDuplicate'
    | 'FieldValueTypeInvalid';
  /** `spec.list[0].name`; empty for the object itself. */
  readonly field: string;
  /** The text after `field: `. */
  readonly message: string;
}

export function invalidValue(field: string, value: unknown, detail: string): FieldError {
  return { reason: 'FieldValueInvalid', field, message: `Invalid value: ${show(value)}${colon(detail)}` };
}

export function invalidType(field: string, value: unknown, detail: string): FieldError {
  return { reason: 'FieldValueTypeInvalid', field, message: `Invalid value: ${show(value)}${colon(detail)}` };
}

export function required(field: string, detail = ''): FieldError {
  return { reason: 'FieldValueRequired', field, message: `Required value${colon(detail)}` };
}

export function notSupported(field: string, value: unknown, supported: readonly unknown[]): FieldError {
  const list = supported.map((one) => JSON.stringify(String(one))).join(', ');
  return {
    reason: 'FieldValueNotSupported',
    field,
    message: `Unsupported value: ${show(value)}: supported values: ${list}`,
  };
}

export function tooLong(field: string, bytes: number): FieldError {
  return {
    reason: 'FieldValueTooLong',
    field,
    message: `Too long: may not be more than ${bytes} byte${bytes === 1 ? '' : 's'}`,
  };
}

export function tooMany(field: string, actual: number, most: number): FieldError {
  return {
    reason: 'FieldValueTooMany',
    field,
    message: `Too many: ${actual}: must have at most ${most} item${most === 1 ? '' : 's'}`,
  };
}

export function forbiddenField(field: string, detail: string): FieldError {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden${colon(detail)}` };
}

export function duplicateValue(field: string, value: unknown): FieldError {
  return { reason: 'FieldValueDuplicate', field, message: `Duplicate value: ${show(value)}` };
}

/** 422 Invalid that lists every error, as the API server words it. */
export function invalid(kind: NamedKind, name: string, errors: readonly FieldError[]): ApiError {
  const qualified = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  const texts = errors.map((error) => `${error.field === '' ? '<nil>' : error.field}: ${error.message}`);
  const distinct = [...new Set(texts)];
  const list = distinct.length === 1 ? distinct[0] : `[${distinct.join(', ')}]`;
  const causes: StatusCause[] = errors.map(({ reason, message, field }) => ({
    reason,
    message,
    field: field === '' ? '<nil>' : field,
  }));
  return new ApiError('Invalid', `${qualified} "${name}" is invalid: ${list}`, {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    ...(kind.kind === '' ? {} : { kind: kind.kind }),
    causes,
  });
}

/** A value as field.Error shows it: strings quoted, null bare, the rest as JSON. */
function show(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

function colon(detail: string): string {
  return detail === '' ? '' : `: ${detail}`;
}
