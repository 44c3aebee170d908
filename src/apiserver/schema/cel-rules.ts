import type { Environment } from '@marcbachmann/cel-js';
import { messageOf, TerminalError } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { type FieldError, invalidValue } from '../field-error.ts';
import { equalJson } from '../object.ts';
import { createCelEnvironment } from './cel-environment.ts';
import { escapeName, toCel } from './cel-values.ts';
import { correlate } from './correlate.ts';
import { memberSchema, type Schema, type ValidationRule } from './schema.ts';

type Program = (variables: Record<string, unknown>) => unknown;

/** Compiled x-kubernetes-validations of a whole schema. */
export interface CompiledRules {
  /**
   * What the rules say of an object; `old` is what it replaces. When `schemaErrors` show a shape that rules
   * cannot be run on, none runs, and one more error says so.
   */
  check(object: unknown, old: unknown, schemaErrors: readonly FieldError[]): FieldError[];
}

interface CompiledRule extends ValidationRule {
  readonly program: Program;
  readonly message_?: Program;
  /** Mentions oldSelf: runs only where there was a value before. */
  readonly transition: boolean;
}

type RuleTable = ReadonlyMap<Schema, readonly CompiledRule[]>;

const blocking = new Set<FieldError['reason']>([
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
  'FieldValueNotSupported',
]);

/** Compiles the rules of a schema. Throws TerminalError `DefinitionInvalid` that names a rule that does not compile. */
export function compileRules(schema: Schema, definition: string): CompiledRules {
  const table = new Map<Schema, CompiledRule[]>();
  const environment = createCelEnvironment();
  gather(schema, '', (node, rule, at) => {
    const rules = table.get(node) ?? [];
    table.set(node, rules);
    rules.push(compileRule(environment, rule, `${definition}${at}`));
  });
  const deep = deepSet(schema, table);
  return {
    check(object, old, schemaErrors) {
      if (table.size === 0) return [];
      if (schemaErrors.some((error) => blocking.has(error.reason))) return [notChecked()];
      const errors: FieldError[] = [];
      const walk: Walk = { table, deep, errors };
      visit(walk, schema, { raw: object, cel: toCel(schema, object) }, old, '');
      return errors;
    },
  };
}

function notChecked(): FieldError {
  return {
    reason: 'FieldValueInvalid',
    field: '',
    message:
      'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
  };
}

function gather(
  schema: Schema,
  at: string,
  found: (node: Schema, rule: ValidationRule, at: string) => void,
): void {
  for (const rule of schema['x-kubernetes-validations'] ?? []) found(schema, rule, at);
  for (const [key, member] of Object.entries(schema.properties ?? {})) gather(member, `${at}.${key}`, found);
  if (schema.items !== undefined) gather(schema.items, `${at}[*]`, found);
  if (typeof schema.additionalProperties === 'object') gather(schema.additionalProperties, `${at}[*]`, found);
}

/** Schemas with a rule at or below them: the only ones worth walking into. */
function deepSet(schema: Schema, table: RuleTable): Set<Schema> {
  const deep = new Set<Schema>();
  const mark = (node: Schema): boolean => {
    const rest = typeof node.additionalProperties === 'object' ? [node.additionalProperties] : [];
    const below = [
      ...Object.values(node.properties ?? {}),
      ...(node.items === undefined ? [] : [node.items]),
      ...rest,
    ];
    const marked = below.map(mark).some((one) => one) || table.has(node);
    if (marked) deep.add(node);
    return marked;
  };
  mark(schema);
  return deep;
}

function compileRule(environment: Environment, rule: ValidationRule, where: string): CompiledRule {
  return {
    ...rule,
    program: compile(environment, rule.rule, where),
    ...(rule.messageExpression === undefined
      ? {}
      : { message_: compile(environment, rule.messageExpression, where) }),
    transition: /\boldSelf\b/.test(rule.rule.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '')),
  };
}

function compile(environment: Environment, expression: string, where: string): Program {
  try {
    const program = environment.parse(expression);
    const checked = program.check();
    if (!checked.valid) throw checked.error;
    return program as Program;
  } catch (cause) {
    throw new TerminalError(
      'DefinitionInvalid',
      `the rule ${expression} of ${where} is not valid: ${messageOf(cause)}`,
      {
        cause,
        remedy: 'Use only the part of CEL that src/apiserver/schema/cel-environment.ts lists.',
      },
    );
  }
}

interface Walk {
  readonly table: RuleTable;
  readonly deep: ReadonlySet<Schema>;
  readonly errors: FieldError[];
}

/** A value as JSON and as CEL sees it. */
interface Both {
  readonly raw: unknown;
  readonly cel: unknown;
}

function visit(walk: Walk, schema: Schema, value: Both, old: unknown, at: string): void {
  if (!walk.deep.has(schema) || value.raw === undefined || value.raw === null) return;
  for (const rule of walk.table.get(schema) ?? []) {
    const error = run(rule, schema, value, old, at);
    if (error !== undefined) walk.errors.push(error);
  }
  if (Array.isArray(value.raw)) visitItems(walk, schema, value, old, at);
  else if (isObject(value.raw)) visitMembers(walk, schema, value, old, at);
}

function visitItems(walk: Walk, schema: Schema, value: Both, old: unknown, at: string): void {
  const { items } = schema;
  if (items === undefined || !walk.deep.has(items)) return;
  const cel = value.cel as readonly unknown[];
  const match = correlate(schema, old);
  for (const [index, raw] of (value.raw as readonly unknown[]).entries()) {
    visit(walk, items, { raw, cel: cel[index] }, match(raw), `${at}[${index}]`);
  }
}

function visitMembers(walk: Walk, schema: Schema, value: Both, old: unknown, at: string): void {
  const raw = value.raw as Record<string, unknown>;
  const cel = value.cel as Record<string, unknown>;
  const before = isObject(old) ? old : {};
  for (const key of Object.keys(raw)) {
    const member = memberSchema(schema, key);
    if (member === undefined || !walk.deep.has(member)) continue;
    const named = schema.properties !== undefined && Object.hasOwn(schema.properties, key);
    const path = named ? (at === '' ? key : `${at}.${key}`) : `${at}[${key}]`;
    const previous = Object.hasOwn(before, key) ? before[key] : undefined;
    const now = { raw: raw[key], cel: cel[named ? escapeName(key) : key] };
    visit(walk, member, now, previous, path);
  }
}

function run(
  rule: CompiledRule,
  schema: Schema,
  value: Both,
  old: unknown,
  at: string,
): FieldError | undefined {
  if (rule.transition && old === undefined) return undefined;
  // What has not changed is not judged again: a tightened rule must not lock existing objects.
  if (!rule.transition && old !== undefined && equalJson(old, value.raw)) return undefined;
  const variables = rule.transition ? { self: value.cel, oldSelf: toCel(schema, old) } : { self: value.cel };
  try {
    if (rule.program(variables) === true) return undefined;
  } catch (error) {
    const detail = `rule evaluation error: ${firstLine(messageOf(error))} evaluating rule: ${rule.message ?? rule.rule}`;
    return failed(rule, value, at, detail);
  }
  return failed(rule, value, at, messageFor(rule, variables));
}

function messageFor(rule: CompiledRule, variables: Record<string, unknown>): string {
  try {
    const message = rule.message_?.(variables);
    if (typeof message === 'string' && message.trim() !== '') return message;
  } catch {
    // The fixed message stands in.
  }
  return rule.message ?? `failed rule: ${rule.rule}`;
}

/** Objects and lists are not shown, other values are. */
function failed(rule: CompiledRule, value: Both, at: string, detail: string): FieldError {
  const field = rule.fieldPath === undefined ? at : (at + rule.fieldPath).replace(/^\./, '');
  switch (rule.reason) {
    case 'FieldValueForbidden':
      return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${detail}` };
    case 'FieldValueRequired':
      return { reason: 'FieldValueRequired', field, message: `Required value: ${detail}` };
    default:
      return typeof value.raw === 'object'
        ? { reason: 'FieldValueInvalid', field, message: `Invalid value: ${detail}` }
        : invalidValue(field, value.raw, detail);
  }
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
