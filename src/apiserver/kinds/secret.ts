import { isObject } from '#kit/json.ts';
import { type FieldError, forbiddenField, invalidValue, tooLong } from '../field-error.ts';
import { type ApiObject, equalJson } from '../object.ts';
import { subdomainProblems } from '../schema/names.ts';
import { objectSchema } from '../schema/object-meta.ts';
import { ageOf } from '../table/age.ts';
import type { Kind } from './kind.ts';

const maxBytes = 1024 * 1024;
const keyPattern = /^[-._a-zA-Z0-9]+$/;

export const secretKind: Kind = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  listKind: 'SecretList',
  plural: 'secrets',
  singular: 'secret',
  shortNames: [],
  categories: [],
  namespaced: true,
  custom: false,
  status: false,
  columns: [],
  storage: { id: 'secrets', secret: true },
  schema: objectSchema({
    description:
      'Secret holds secret data of a certain type; the values are encrypted where they are stored.',
    properties: {
      data: {
        type: 'object',
        description: 'Values in base64, by key.',
        additionalProperties: { type: 'string', format: 'byte' },
      },
      immutable: { type: 'boolean', description: 'When true, the data cannot be changed any more.' },
      stringData: {
        type: 'object',
        description: 'Write-only values in clear; they are merged into data.',
        additionalProperties: { type: 'string' },
      },
      type: { type: 'string', description: 'Says to programs what the data is. Default: Opaque.' },
    },
  }),
  strategy: {
    unconditionalUpdate: true,
    createOnUpdate: false,
    generation: false,
    strategicMerge: true,
    validateName: subdomainProblems,
    normalize: prepareSecret,
    validate: validateSecret,
    table: {
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Type', type: 'string' },
        { name: 'Data', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
      cells: (object, now) => [
        object.metadata.name,
        object['type'],
        countKeys(object['data']),
        ageOf(object.metadata.creationTimestamp, now),
      ],
    },
    fieldSelectors: { type: (object) => String(object['type'] ?? '') },
  },
};

/** Takes members away that a built-in type does not write when they are empty. */
export function omitEmpty(object: Record<string, unknown>, fields: readonly string[]): void {
  for (const field of fields) {
    const value = object[field];
    if (value === '' || (isObject(value) && Object.keys(value).length === 0)) delete object[field];
  }
}

function prepareSecret(object: ApiObject): void {
  const clear = object['stringData'];
  if (isObject(clear) && Object.keys(clear).length > 0) {
    const data: Record<string, unknown> = isObject(object['data']) ? object['data'] : {};
    for (const [key, value] of Object.entries(clear))
      data[key] = Buffer.from(String(value)).toString('base64');
    object['data'] = data;
  }
  delete object['stringData'];
  omitEmpty(object, ['data', 'type']);
  object['type'] ??= 'Opaque';
}

function validateSecret(object: ApiObject, old: ApiObject | undefined, sent: ApiObject): FieldError[] {
  const errors = validateDataKeys('data', object['data']);
  if (totalSize(object['data']) > maxBytes) errors.push(tooLong('data', maxBytes));
  if (old === undefined) return errors;
  if (object['type'] !== old['type']) errors.push(invalidValue('type', object['type'], 'field is immutable'));
  return [...errors, ...validateImmutable(object, old, sent, ['data'])];
}

/** Keys of a Secret's or ConfigMap's data must be usable as file names. */
export function validateDataKeys(field: string, data: unknown): FieldError[] {
  const errors: FieldError[] = [];
  for (const key of Object.keys(isObject(data) ? data : {})) {
    if (keyPattern.test(key) && key !== '.' && key !== '..' && !key.startsWith('../') && key.length <= 253)
      continue;
    errors.push(
      invalidValue(
        `${field}[${key}]`,
        key,
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      ),
    );
  }
  return errors;
}

/** What `immutable: true` forbids. */
export function validateImmutable(
  object: ApiObject,
  old: ApiObject,
  sent: ApiObject,
  fields: readonly string[],
): FieldError[] {
  if (old['immutable'] !== true) return [];
  const errors: FieldError[] = [];
  const message = 'field is immutable when `immutable` is set';
  if (object['immutable'] !== true) errors.push(forbiddenField('immutable', message));
  for (const field of fields) {
    // The API server tells an empty map of bytes from none here, and nowhere else.
    const bytes = field === 'binaryData' || object.kind === 'Secret';
    const emptied = bytes && old[field] === undefined && isObject(sent[field]);
    if (emptied || !equalJson(object[field] ?? {}, old[field] ?? {}))
      errors.push(forbiddenField(field, message));
  }
  return errors;
}

export function countKeys(data: unknown): number {
  return isObject(data) ? Object.keys(data).length : 0;
}

function totalSize(data: unknown): number {
  if (!isObject(data)) return 0;
  return Object.values(data).reduce<number>(
    (sum, value) => sum + Buffer.byteLength(String(value), 'base64'),
    0,
  );
}
