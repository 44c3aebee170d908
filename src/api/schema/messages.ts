import type { z } from 'zod';
import { isObject } from '#kit/json.ts';
import { type FieldError, joinPath } from '../field-error.ts';
import { childrenOf, type JsonSchema } from './json-schema.ts';
import { suggest } from './suggest.ts';

type Issue = z.core.$ZodIssue;

/** Turns what zod found in `value` into errors that name the field below `root` and say what to do. */
export function fieldErrors(
  issues: readonly Issue[],
  value: unknown,
  schema: JsonSchema,
  root: string,
): FieldError[] {
  return issues.flatMap((issue) => {
    const place: Place = { path: joinPath(root, issue.path), value: valueAt(value, issue.path) };
    return errorsOf(issue, place, schemaAt(schema, issue.path));
  });
}

interface Place {
  readonly path: string;
  readonly value: unknown;
}

function errorsOf(issue: Issue, place: Place, schema: JsonSchema | undefined): FieldError[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => unknownField(key, place.path, schema));
  if (issue.code === 'invalid_union') return unionErrors(issue.errors, place, schema);
  if (issue.code === 'invalid_key') {
    const reason = issue.issues.map((inner) => messageOf(inner, undefined)).join('; ');
    return [{ path: place.path, message: `its name ${reason}` }];
  }
  return [{ path: place.path, message: messageOf(issue, place.value) }];
}

function messageOf(issue: Issue, value: unknown): string {
  switch (issue.code) {
    case 'invalid_type':
      return value === undefined
        ? `is required; give ${article(issue.expected)}`
        : `must be ${article(issue.expected)}, not ${article(typeOf(value))}`;
    case 'invalid_value':
      return choiceMessage(issue.values.map(String), value);
    case 'too_big':
      return `must ${bound(issue.origin, 'at most', issue.maximum)}`;
    case 'too_small':
      return tooSmall(issue.origin, issue.minimum);
    default:
      return issue.message;
  }
}

function choiceMessage(values: readonly string[], value: unknown): string {
  const choices = values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`;
  if (value === undefined) return `is required; ${choices}`;
  if (typeof value !== 'string') return `${choices}, not ${article(typeOf(value))}`;
  const meant = suggest(value, values);
  return `${choices}; "${value.slice(0, 64)}" is not${meant === undefined ? '' : ` (did you mean ${meant}?)`}`;
}

function tooSmall(origin: string, minimum: number | bigint): string {
  if (Number(minimum) === 1 && (origin === 'string' || origin === 'array')) {
    return origin === 'string' ? 'must not be empty' : 'must have at least one item';
  }
  return `must ${bound(origin, 'at least', minimum)}`;
}

function bound(origin: string, which: string, limit: number | bigint): string {
  if (origin === 'string') return `have ${which} ${limit} characters`;
  if (origin === 'array') return `have ${which} ${limit} items`;
  return `be ${which} ${limit}`;
}

function unknownField(key: string, path: string, schema: JsonSchema | undefined): FieldError {
  const known = Object.keys(schema?.properties ?? {});
  const meant = suggest(key, known);
  const hint = meant === undefined ? `; it has ${known.join(', ')}` : ` (did you mean ${meant}?)`;
  return { path: joinPath(path, [key]), message: `is not a field of ${path}${hint}` };
}

/** The errors of the alternative whose type fits; when none fits, what would. */
function unionErrors(
  alternatives: readonly (readonly Issue[])[],
  place: Place,
  schema: JsonSchema | undefined,
): FieldError[] {
  const fitting = alternatives.find(
    (issues) => !issues.some(({ code, path }) => code === 'invalid_type' && path.length === 0),
  );
  if (fitting !== undefined) {
    return fitting.flatMap((issue) =>
      errorsOf(
        issue,
        { ...place, path: joinPath(place.path, issue.path), value: valueAt(place.value, issue.path) },
        schema === undefined ? undefined : schemaAt(schema, issue.path),
      ),
    );
  }
  const types = [...new Set((schema?.anyOf ?? []).map(({ type }) => article(type ?? 'any')))];
  const wanted = `must be ${types.join(' or ')}`;
  const message =
    place.value === undefined
      ? `is required; it ${wanted}`
      : `${wanted}, not ${article(typeOf(place.value))}`;
  return [{ path: place.path, message }];
}

const articles: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

function article(type: string): string {
  return articles[type] ?? type;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((current, step) => {
    if (Array.isArray(current)) return current[Number(step)];
    return isObject(current) ? current[String(step)] : undefined;
  }, value);
}

function schemaAt(schema: JsonSchema, path: readonly PropertyKey[]): JsonSchema | undefined {
  return path.reduce<JsonSchema | undefined>((current, step) => {
    if (current === undefined) return undefined;
    const children = new Map(childrenOf(current));
    return typeof step === 'number' ? children.get('[]') : (children.get(String(step)) ?? children.get('*'));
  }, schema);
}
