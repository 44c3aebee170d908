import { isObject } from '#kit/json.ts';
import { type FieldError, invalidValue, tooLong } from '../field-error.ts';
import type { ApiObject } from '../object.ts';
import { subdomainProblems } from '../schema/names.ts';
import { objectSchema } from '../schema/object-meta.ts';
import { ageOf } from '../table/age.ts';
import type { Kind } from './kind.ts';
import { countKeys, omitEmpty, validateDataKeys, validateImmutable } from './secret.ts';

const maxBytes = 1024 * 1024;

export const configMapKind: Kind = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  listKind: 'ConfigMapList',
  plural: 'configmaps',
  singular: 'configmap',
  shortNames: ['cm'],
  categories: [],
  namespaced: true,
  custom: false,
  status: false,
  columns: [],
  storage: { id: 'configmaps', secret: false },
  schema: objectSchema({
    description: 'ConfigMap holds configuration for programs to read.',
    properties: {
      binaryData: {
        type: 'object',
        description: 'Values in base64 that are not text, by key.',
        additionalProperties: { type: 'string', format: 'byte' },
      },
      data: { type: 'object', description: 'Text values by key.', additionalProperties: { type: 'string' } },
      immutable: { type: 'boolean', description: 'When true, the data cannot be changed any more.' },
    },
  }),
  strategy: {
    unconditionalUpdate: true,
    createOnUpdate: false,
    generation: false,
    strategicMerge: true,
    validateName: subdomainProblems,
    normalize: (object) => omitEmpty(object, ['data', 'binaryData']),
    validate: validateConfigMap,
    table: {
      columns: [
        { name: 'Name', type: 'string', format: 'name' },
        { name: 'Data', type: 'string' },
        { name: 'Age', type: 'string' },
      ],
      cells: (object, now) => [
        object.metadata.name,
        countKeys(object['data']) + countKeys(object['binaryData']),
        ageOf(object.metadata.creationTimestamp, now),
      ],
    },
  },
};

function validateConfigMap(object: ApiObject, old: ApiObject | undefined, sent: ApiObject): FieldError[] {
  const data = isObject(object['data']) ? object['data'] : {};
  const binary = isObject(object['binaryData']) ? object['binaryData'] : {};
  const errors = [...validateDataKeys('data', data), ...validateDataKeys('binaryData', binary)];
  for (const key of Object.keys(data))
    if (Object.hasOwn(binary, key))
      errors.push(invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData'));
  const texts = Object.values(data).reduce<number>((sum, value) => sum + Buffer.byteLength(String(value)), 0);
  const bytes = Object.values(binary).reduce<number>(
    (sum, value) => sum + Buffer.byteLength(String(value), 'base64'),
    0,
  );
  if (texts + bytes > maxBytes) errors.push(tooLong('', maxBytes));
  return old === undefined
    ? errors
    : [...errors, ...validateImmutable(object, old, sent, ['data', 'binaryData'])];
}
