import { isObject } from '#kit/json.ts';
import { type FieldError, invalidValue } from '../field-error.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';

const most = 2 ** 31 - 1;

/** What an object that can be scaled must have at its scale paths. A write of the status says nothing of the spec. */
export function validateScale({ scale }: Kind, object: ApiObject, status: boolean): FieldError[] {
  if (scale === undefined) return [];
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = scale;
  return [
    ...(status ? [] : numberErrors(object, specReplicasPath)),
    ...numberErrors(object, statusReplicasPath),
    ...(labelSelectorPath === undefined ? [] : textErrors(object, labelSelectorPath)),
  ];
}

function numberErrors(object: ApiObject, path: string): FieldError[] {
  const found = find(object, path, 'int64', (value) => Number.isInteger(value));
  if ('problem' in found) return [invalidValue(path, 0, found.problem)];
  const { value } = found;
  if (typeof value !== 'number') return [];
  if (value < 0) return [invalidValue(path, value, 'should be a non-negative integer')];
  return value > most ? [invalidValue(path, value, `should be less than or equal to ${most}`)] : [];
}

function textErrors(object: ApiObject, path: string): FieldError[] {
  const found = find(object, path, 'string', (value) => typeof value === 'string');
  return 'problem' in found ? [invalidValue(path, '', found.problem)] : [];
}

/** The value at a simple path, or why there can be none. */
function find(
  object: ApiObject,
  path: string,
  type: string,
  fits: (value: unknown) => boolean,
): { value: unknown } | { problem: string } {
  const names = path.split('.').filter((name) => name !== '');
  let value: unknown = object;
  for (const [index, name] of names.entries()) {
    if (value === null) return { value: undefined };
    if (!isObject(value))
      return { problem: wrong(names.slice(0, index + 1), value, 'map[string]interface{}') };
    if (!Object.hasOwn(value, name)) return { value: undefined };
    value = value[name];
  }
  return fits(value) ? { value } : { problem: wrong(names, value, type) };
}

function wrong(names: readonly string[], value: unknown, expected: string): string {
  return `.${names.join('.')} accessor error: ${JSON.stringify(value)} is of the type ${goType(value)}, expected ${expected}`;
}

function goType(value: unknown): string {
  if (value === null) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'object'
    ? 'map[string]interface {}'
    : typeof value === 'boolean'
      ? 'bool'
      : 'string';
}
