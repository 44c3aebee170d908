import { format, type OutputUnit, type Schema, type SchemaDraft, Validator } from '@cfworker/json-schema';
import { isObject } from '#kit/json.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import type { JsonSchema } from '../config/field-map.ts';
import { defaultSettings } from '../config/settings.ts';
import { compilePattern } from './pattern.ts';
import { OutOfTime, withinTime } from './within-time.ts';

export interface ArgumentCheck {
  /** The arguments to run with. Throws RpcError invalidParams that lists what is wrong. */
  validate(args: unknown): Record<string, unknown>;
  /** What of the schema is not checked and why. */
  readonly warnings: readonly string[];
}

/**
 * Compiles the check of one tool's arguments, once per load of the configuration. Nothing is generated or
 * evaluated; `pattern`s that could run for long are left out with a warning; `format` is not checked, as
 * JSON Schema 2020-12 has it. `strips`: top-level arguments that the schema does not name are dropped. A check that
 * is not done after `maxMs` refuses the arguments.
 */
export function compileArguments(
  tool: string,
  schema: JsonSchema,
  strips: boolean,
  maxMs: number = defaultSettings.maxValidationMs,
): ArgumentCheck {
  const warnings: string[] = [];
  const safe = replacePatterns(schema, (path, source) =>
    checkPattern({ tool, path, maxMs }, source, warnings),
  );
  const validator = new Validator(safe as Schema, draftOf(schema), false);
  const known = isObject(schema['properties'])
    ? new Set(Object.keys(schema['properties']))
    : new Set<string>();
  const isLong = mayTakeLong(schema);
  const look = (checked: unknown) => {
    try {
      return isLong ? withinTime(maxMs, () => validator.validate(checked)) : validator.validate(checked);
    } catch (error) {
      throw uncheckable(tool, error, maxMs);
    }
  };
  return {
    warnings,
    validate(args) {
      const given = args ?? {};
      const checked = strips && isObject(given) ? stripUnknown(given, known) : given;
      const { valid, errors } = look(checked);
      if (valid && isObject(checked)) return checked;
      throw new RpcError(
        errorCodes.invalidParams,
        `Invalid arguments for tool ${tool}: ${issueList(errors)}`,
      );
    },
  };
}

/** Keywords by which a check can take more than the schema's size times that of the arguments. */
const multiplying = /"(?:\$ref|\$dynamicRef|\$recursiveRef|uniqueItems)":/;

function mayTakeLong(schema: JsonSchema): boolean {
  return multiplying.test(JSON.stringify(schema));
}

function uncheckable(tool: string, error: unknown, maxMs: number): unknown {
  const isOverflow = error instanceof RangeError;
  if (!isOverflow && !(error instanceof OutOfTime)) return error;
  const why = isOverflow ? 'its schema refers to itself without end' : `it took more than ${maxMs} ms`;
  return new RpcError(errorCodes.invalidParams, `Arguments for tool ${tool} could not be checked: ${why}`);
}

function stripUnknown(args: Record<string, unknown>, known: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).filter(([name]) => known.has(name)));
}

function draftOf(schema: JsonSchema): SchemaDraft {
  const dialect = String(schema['$schema'] ?? '');
  if (dialect.includes('draft-07') || dialect.includes('draft-06')) return '7';
  if (dialect.includes('draft-04')) return '4';
  return dialect.includes('2019-09') ? '2019-09' : '2020-12';
}

/** In the form that clients of Ploinky parse: JSON of issues with code, path and message. */
function issueList(errors: readonly OutputUnit[]): string {
  const telling = errors.filter((error) => !groupKeywords.has(error.keyword));
  const issues = (telling.length > 0 ? telling : errors).slice(0, 10).map((error) => ({
    code: issueCodes.get(error.keyword) ?? 'custom',
    path: [...pathOf(error.instanceLocation), ...missingName(error)],
    message: messageOf(error),
  }));
  return JSON.stringify(issues);
}

/** Keywords whose error only says that something below them is wrong. */
const groupKeywords = new Set([
  'properties',
  'items',
  'prefixItems',
  'allOf',
  '$ref',
  'additionalProperties',
]);

const issueCodes: ReadonlyMap<string, string> = new Map([
  ['type', 'invalid_type'],
  ['required', 'invalid_type'],
  ['enum', 'invalid_enum_value'],
  ['const', 'invalid_literal'],
  ['false', 'unrecognized_keys'],
  ['minLength', 'too_small'],
  ['minimum', 'too_small'],
  ['exclusiveMinimum', 'too_small'],
  ['minItems', 'too_small'],
  ['maxLength', 'too_big'],
  ['maximum', 'too_big'],
  ['exclusiveMaximum', 'too_big'],
  ['maxItems', 'too_big'],
  ['format', 'invalid_string'],
]);

function messageOf(error: OutputUnit): string {
  if (error.keyword === 'format') return 'does not match the pattern, or is too long for its check';
  if (error.keyword === 'required') return 'Required';
  if (error.keyword === 'false') return 'is not an argument of this tool';
  return error.error.slice(0, 500);
}

/** The property that `required` misses: clients look for it in the path. */
function missingName({ keyword, error }: OutputUnit): string[] {
  const name = keyword === 'required' ? /required property "(.*)"/s.exec(error)?.[1] : undefined;
  return name === undefined ? [] : [name];
}

/** `#/a/0` → ['a', 0]. */
function pathOf(location: string): (string | number)[] {
  return location
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

interface PatternPlace {
  readonly tool: string;
  readonly path: string;
  readonly maxMs: number;
}

/** Longer text is matched against the clock: linear time is long, too, for millions of characters. */
const longText = 10_000;

/**
 * The validator would build each pattern anew with the backtracking engine, so a pattern becomes a format
 * of its own whose check is ours. Returns the format's name, or undefined when the pattern is not checked.
 */
function checkPattern(
  { tool, path, maxMs }: PatternPlace,
  source: string,
  warnings: string[],
): string | undefined {
  const check = compilePattern(source);
  if (check === undefined) {
    warnings.push(`tool ${tool}: pattern of ${path} is invalid or could run for long, and is not checked`);
    return undefined;
  }
  const name = `ploinky-pattern:${source}`;
  const matches = (text: string) =>
    text.length > longText ? withinTime(maxMs, () => check.matches(text)) : check.matches(text);
  format[name] = (text: string) => text.length <= check.maxLength && matches(text);
  return name;
}

function replacePatterns(
  node: unknown,
  formatOf: (path: string, source: string) => string | undefined,
  path = '#',
): unknown {
  if (Array.isArray(node))
    return node.map((item, index) => replacePatterns(item, formatOf, `${path}/${index}`));
  if (!isObject(node)) return node;
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    if (literalKeywords.has(key)) copy[key] = value;
    else if (namedKeywords.has(key) && isObject(value))
      copy[key] = replaceInEach(value, formatOf, `${path}/${key}`);
    else if (key === 'pattern' && typeof value === 'string') {
      const name = formatOf(path, value);
      if (name !== undefined) copy['format'] = name;
    } else if (key === 'patternProperties') Object.assign(copy, safePatternProperties(value, formatOf, path));
    else if (key !== 'format' || typeof value !== 'string')
      copy[key] = replacePatterns(value, formatOf, `${path}/${key}`);
  }
  return copy;
}

/** Values that are data, not schemas. */
const literalKeywords = new Set(['enum', 'const', 'default', 'examples', 'required']);
/** Objects whose keys are names, whatever they are, and whose values are schemas. */
const namedKeywords = new Set(['properties', '$defs', 'definitions', 'dependentSchemas']);

function replaceInEach(
  schemas: Record<string, unknown>,
  formatOf: (path: string, source: string) => string | undefined,
  path: string,
): Record<string, unknown> {
  const entries = Object.entries(schemas);
  return Object.fromEntries(
    entries.map(([name, schema]) => [name, replacePatterns(schema, formatOf, `${path}/${name}`)]),
  );
}

/** Keys are short, and their patterns run as they are: only those that need no backtracking bound stay. */
function safePatternProperties(
  value: unknown,
  formatOf: (path: string, source: string) => string | undefined,
  path: string,
): Record<string, unknown> {
  if (!isObject(value)) return {};
  const kept = Object.entries(value).filter(([source]) => /^[\^$\w\-. ]*$/.test(source));
  if (kept.length < Object.keys(value).length) formatOf(`${path}/patternProperties`, '(');
  const entries = kept.map(([source, schema]) => [
    source,
    replacePatterns(schema, formatOf, `${path}/${source}`),
  ]);
  return { patternProperties: Object.fromEntries(entries) };
}
