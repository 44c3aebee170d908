import { isObject } from '#kit/json.ts';
import { ApiError, badRequest } from '../api-error.ts';
import { type FieldError, invalid, invalidValue } from '../field-error.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import { applyDefaults } from '../schema/defaults.ts';
import { validateMetadata } from '../schema/metadata.ts';
import { objectMetaSchema } from '../schema/object-meta.ts';
import { prune } from '../schema/prune.ts';
import { validateValue } from '../schema/validate.ts';
import { readPath } from '../table/json-path.ts';
import type { WriteOptions } from './target.ts';

/**
 * Turns a parsed body into an object of the kind: checks that it is one, removes or refuses members that the
 * schema does not know, and fills in defaults. `dropNulls: false` keeps nulls where no null can be, for validation
 * to name them. Parts of `body` may be shared with the result.
 */
export function decodeObject(
  kind: Kind,
  body: unknown,
  options: Pick<WriteOptions, 'fieldValidation' | 'warn' | 'duplicates'>,
  { defaults = true, dropNulls = true } = {},
): ApiObject {
  if (!isObject(body)) throw badRequest(`the body is not a JSON object: it must be a ${kind.kind}`);
  checkType(kind, body);
  const unknown: string[] = [];
  const pruned = prune(kind.schema, body, unknown) as ApiObject;
  reportUnknown(kind, unknown, options);
  pruned.apiVersion = apiVersionOf(kind);
  pruned.kind = kind.kind;
  if (!isObject(pruned.metadata)) pruned.metadata = {};
  checkMetadataTypes(kind, pruned);
  removeNulls(pruned.metadata as Record<string, unknown>);
  if (defaults) applyDefaults(kind.schema, pruned, dropNulls);
  if (!kind.custom) checkCoreTypes(kind, pruned);
  return pruned;
}

function checkType(kind: Kind, body: Record<string, unknown>): void {
  const expected = apiVersionOf(kind);
  if (typeof body['kind'] !== 'string' || body['kind'] === '')
    throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(body).slice(0, 200)}'`);
  if (body['kind'] !== kind.kind && kind.custom) throw wrongKind(kind, body, String(body['kind']));
  if (body['kind'] !== kind.kind)
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: the kind in the data (${body['kind']}) does not match the expected kind (${kind.kind})`,
    );
  if (body['apiVersion'] !== expected)
    throw badRequest(
      `the API version in the data (${String(body['apiVersion'] ?? '')}) does not match the expected API version (${expected})`,
    );
}

function wrongKind(kind: Kind, body: Record<string, unknown>, actual: string): ApiError {
  const name = isObject(body['metadata']) ? String(body['metadata']['name'] ?? '') : '';
  return invalid({ ...kind, kind: actual }, name, [invalidValue('kind', actual, `must be ${kind.kind}`)]);
}

function reportUnknown(
  kind: Kind,
  unknown: readonly string[],
  options: Pick<WriteOptions, 'fieldValidation' | 'warn' | 'duplicates'>,
): void {
  const twice = (options.duplicates ?? []).map((path) => `duplicate field ${JSON.stringify(path)}`);
  const texts = [...twice, ...unknown.toSorted().map((path) => `unknown field ${JSON.stringify(path)}`)];
  if (texts.length === 0 || options.fieldValidation === 'Ignore') return;
  if (options.fieldValidation === 'Warn') {
    for (const text of texts) options.warn(text);
    return;
  }
  throw badRequest(
    `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: strict decoding error: ${texts.join(', ')}`,
  );
}

function checkMetadataTypes(kind: Kind, object: ApiObject): void {
  const [first] = validateValue(objectMetaSchema, withoutNulls(object.metadata), 'metadata');
  if (first !== undefined)
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${first.field}: ${first.message}`,
    );
}

function withoutNulls(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

function removeNulls(target: Record<string, unknown>): void {
  for (const key of Object.keys(target)) if (target[key] === null) delete target[key];
}

/** A typed kind of the real server does not decode when a member has the wrong type: 400, not 422. */
function checkCoreTypes(kind: Kind, object: ApiObject): void {
  for (const key of Object.keys(object)) if (object[key] === null) delete object[key];
  const [first] = validateValue({ ...kind.schema, required: [] }, object, '').filter(
    (error) => error.reason === 'FieldValueTypeInvalid' || error.message.includes('in body must be of type'),
  );
  if (first !== undefined)
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${first.field}: ${first.message}`,
    );
}

/** Throws 422 with every error of an object that is about to be stored. */
export function validateObject(
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
  more: FieldError[] = [],
): void {
  const errors = [...more, ...validateMetadata(kind, object)];
  if (kind.custom) errors.push(...validateValue(kind.schema, object, '', old));
  errors.push(...validateReplicas(kind, object));
  if (kind.rules !== undefined) errors.push(...kind.rules.check(object, old, errors));
  errors.push(...(kind.strategy.validate?.(object, old) ?? []));
  if (errors.length > 0) throw invalid(kind, object.metadata.name ?? '', errors);
}

function validateReplicas(kind: Kind, object: ApiObject): FieldError[] {
  const path = kind.scale?.specReplicasPath;
  const replicas = path === undefined ? undefined : readPath(object, path)[0];
  if (path === undefined || typeof replicas !== 'number' || replicas >= 0) return [];
  return [invalidValue(path, replicas, 'should be a non-negative integer')];
}

/** 415 for a patch type that the kind does not take. */
export function unsupportedMediaType(supported: readonly string[]): ApiError {
  return new ApiError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`,
  );
}
