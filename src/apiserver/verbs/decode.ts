import { isObject } from '#kit/json.ts';
import { ApiError, badRequest } from '../api-error.ts';
import { type FieldError, invalid, invalidValue } from '../field-error.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import { applyDefaults } from '../schema/defaults.ts';
import { validateListTypes } from '../schema/list-types.ts';
import { validateMetadata } from '../schema/metadata.ts';
import { objectMetaSchema } from '../schema/object-meta.ts';
import { prune } from '../schema/prune.ts';
import { memberSchema, type Schema } from '../schema/schema.ts';
import { validateValue } from '../schema/validate.ts';
import type { Target, WriteOptions } from './target.ts';
import { validateScale } from './validate-scale.ts';

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
  pruned.apiVersion = apiVersionOf(kind);
  pruned.kind = kind.kind;
  if (!isObject(pruned.metadata)) pruned.metadata = {};
  for (const field of ['labels', 'annotations'] as const) fillNulls(pruned.metadata, field);
  checkMetadataTypes(kind, pruned);
  if (defaults) removeNulls(pruned.metadata as Record<string, unknown>);
  if (defaults) removeEmpty(pruned.metadata as Record<string, unknown>);
  if (defaults && kind.custom) applyDefaults(kind.schema, pruned, dropNulls);
  if (defaults && !kind.custom) checkCoreTypes(kind, pruned);
  if (defaults) kind.strategy.decode?.(pruned);
  reportUnknown(kind, unknown, options);
  return pruned;
}

function checkType(kind: Kind, body: Record<string, unknown>): void {
  const expected = apiVersionOf(kind);
  // Of a built-in type the URL tells what is meant.
  if (!kind.custom && !body['kind'] && (!body['apiVersion'] || body['apiVersion'] === expected)) return;
  if (!kind.custom && body['kind'] === kind.kind && !body['apiVersion']) return;
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
  const texts = [
    ...twice,
    ...(kind.custom ? metadataFirst(unknown) : unknown).map(
      (path) => `unknown field ${JSON.stringify(path)}`,
    ),
  ];
  if (texts.length === 0 || options.fieldValidation === 'Ignore') return;
  if (options.fieldValidation === 'Warn') {
    for (const text of texts) options.warn(text);
    return;
  }
  throw badRequest(
    `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: strict decoding error: ${texts.join(', ')}`,
  );
}

/** The API server reads the metadata of a custom object on its own, before the rest, whose members it sorts. */
function metadataFirst(paths: readonly string[]): string[] {
  const isMetadata = (path: string) => path.startsWith('metadata.');
  return [...paths.filter(isMetadata), ...paths.filter((path) => !isMetadata(path)).sort()];
}

function checkMetadataTypes(kind: Kind, object: ApiObject): void {
  refuseMisplacedList(kind, objectMetaSchema, object.metadata, 'metadata');
  const [first] = validateValue(objectMetaSchema, withoutNulls(object.metadata), 'metadata').filter(isOfType);
  if (first !== undefined)
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${first.field}: ${first.message}`,
    );
}

/** A list where a text belongs: the schema's validation lets it pass where the text has a format, no struct does. */
function refuseMisplacedList(kind: Kind, schema: Schema, value: unknown, at: string): void {
  if (Array.isArray(value) && schema.type === 'string')
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${at} must be of type string`,
    );
  if (!isObject(value)) return;
  for (const key of Object.keys(value)) {
    const member = memberSchema(schema, key);
    if (member !== undefined) refuseMisplacedList(kind, member, value[key], `${at}.${key}`);
  }
}

/** What decoding into a struct refuses; the rest is for validation. */
function isOfType(error: FieldError): boolean {
  return /must be of type/.test(error.message);
}

function withoutNulls(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

function removeNulls(target: Record<string, unknown>): void {
  for (const key of Object.keys(target)) if (target[key] === null) delete target[key];
}

/** Null in a map of texts is the empty text. */
function fillNulls(holder: object, field: string): void {
  const map = (holder as Record<string, unknown>)[field];
  if (!isObject(map) || !Object.values(map).includes(null)) return;
  const filled = Object.entries(map).map(([key, value]) => [key, value ?? '']);
  (holder as Record<string, unknown>)[field] = Object.fromEntries(filled);
}

/** Metadata is a typed struct on the real server: what is empty in it is not there. */
function removeEmpty(target: Record<string, unknown>): void {
  for (const key of Object.keys(target)) {
    const value = target[key];
    const empty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    if (empty || value === '' || (key === 'generation' && value === 0)) delete target[key];
  }
}

/** A typed kind of the real server does not decode when a member has the wrong type: 400, not 422. */
function checkCoreTypes(kind: Kind, object: ApiObject): void {
  zeroNulls(kind.schema, object);
  refuseMisplacedList(kind, kind.schema, object, '');
  const [first] = validateValue({ ...kind.schema, required: [] }, object, '').filter((error) =>
    /must be of type/.test(error.message),
  );
  if (first !== undefined)
    throw badRequest(
      `${kind.kind} in version "${kind.version}" cannot be handled as a ${kind.kind}: ${first.field}: ${first.message}`,
    );
}

/** Null for a member of a struct is as if it were not there; for a text in a map or a list it is the empty text. */
function zeroNulls(schema: Schema, value: unknown): void {
  if (!isObject(value)) return;
  for (const key of Object.keys(value)) {
    const named = schema.properties?.[key];
    if (value[key] !== null) zeroNulls(memberSchema(schema, key) ?? {}, value[key]);
    else if (named !== undefined) delete value[key];
    else if (memberSchema(schema, key)?.type === 'string') value[key] = '';
  }
}

/** Throws 422 with every error of an object that is about to be stored. */
export function validateObject(
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
  more: FieldError[] = [],
  subresource?: Target['subresource'],
  sent: ApiObject = object,
): void {
  const errors = [...more, ...validateMetadata(kind, object)];
  if (kind.custom) errors.push(...validateShape(kind, object, old, subresource));
  errors.push(...validateScale(kind, object, subresource === 'status'));
  if (kind.rules !== undefined) errors.push(...kind.rules.check(object, old, errors));
  errors.push(...(kind.strategy.validate?.(object, old, sent) ?? []));
  if (errors.length > 0) throw invalid(kind, object.metadata.name ?? '', errors);
}

/** The schema's word on types and values. A write of the status is judged by the status alone, in its own words. */
function validateShape(
  kind: Kind,
  object: ApiObject,
  old: ApiObject | undefined,
  subresource: Target['subresource'],
): FieldError[] {
  const { metadata: _, ...content } = object;
  const errors =
    subresource === 'status'
      ? validateStatus(kind, object, old)
      : validateValue(kind.schema, object, '', old);
  const lists = validateListTypes(kind.schema, content);
  if (lists.length === 0 || old === undefined) return [...errors, ...lists];
  const { metadata: __, ...before } = old;
  // A list that was wrong before this rule came to be may stay so.
  return validateListTypes(kind.schema, before).length > 0 ? errors : [...errors, ...lists];
}

function validateStatus(kind: Kind, object: ApiObject, old: ApiObject | undefined): FieldError[] {
  const schema = kind.schema.properties?.['status'];
  if (schema === undefined || object['status'] === undefined) return [];
  const errors = validateValue(schema, object['status'], '', old?.['status']);
  return errors.map((error) => ({
    ...error,
    field: error.field === '' ? 'status' : `status.${error.field}`,
  }));
}

/** 415 for a patch type that the kind does not take. */
export function unsupportedMediaType(supported: readonly string[]): ApiError {
  return new ApiError(
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${supported.join(', ')}`,
  );
}
