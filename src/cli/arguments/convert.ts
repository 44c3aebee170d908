import { isObject } from '#kit/json.ts';
import { alternativesOf, choicesOf, resolve, type Schema, typesOf } from './schema.ts';

/** Undefined: the text is no such value. */
export type Converted = { readonly value: unknown } | undefined;

/**
 * A value from the command line as a schema wants it: numbers, true, false and null where it has such types, JSON for
 * objects and lists, one item for a list that is given piece by piece. Where the schema says nothing, a text that
 * looks like a number, true, false or null is one.
 */
export function convert(text: string, schema: Schema, root: Schema): Converted {
  const choices = choicesOf(schema);
  if (choices !== undefined) {
    const found = choices.findIndex((choice) => choice === text || spelling(choice) === text);
    return found === -1 ? undefined : { value: choices[found] };
  }
  const alternatives = alternativesOf(schema, root);
  if (alternatives.length > 1) return firstThatFits(text, alternatives, root);
  const types = typesOf(schema);
  if (types.length === 0) return { value: guess(text) };
  for (const type of order) {
    const converted = types.includes(type) ? byType[type]?.(text, schema, root) : undefined;
    if (converted !== undefined) return converted;
  }
  return undefined;
}

/** Text fits almost everything, so it comes last. */
const order = ['integer', 'number', 'boolean', 'null', 'object', 'array', 'string'];

const byType: Readonly<Record<string, (text: string, schema: Schema, root: Schema) => Converted>> = {
  integer: (text) => numberOf(text, Number.isSafeInteger),
  number: (text) => numberOf(text, Number.isFinite),
  boolean: (text) => (text === 'true' || text === 'false' ? { value: text === 'true' } : undefined),
  null: (text) => (text === 'null' ? { value: null } : undefined),
  object: (text) => jsonOf(text, isObject),
  array: (text, schema, root) => {
    const whole = jsonOf(text, Array.isArray);
    if (whole !== undefined) return whole;
    const item = convert(text, resolve(schema['items'], root), root);
    return item === undefined ? undefined : { value: [item.value] };
  },
  string: (text) => ({ value: text }),
};

function firstThatFits(text: string, alternatives: readonly Schema[], root: Schema): Converted {
  const isText = (schema: Schema) => choicesOf(schema) === undefined && typesOf(schema).join() === 'string';
  const sorted = [
    ...alternatives.filter((each) => !isText(each)),
    ...alternatives.filter((each) => isText(each)),
  ];
  for (const alternative of sorted) {
    const converted = convert(text, alternative, root);
    if (converted !== undefined) return converted;
  }
  return undefined;
}

function numberOf(text: string, fits: (value: number) => boolean): Converted {
  // Number('') and Number(' ') are 0, and Number('0x10') is 16: none of them is meant.
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return undefined;
  return fits(Number(text)) ? { value: Number(text) } : undefined;
}

function jsonOf(text: string, fits: (value: unknown) => boolean): Converted {
  try {
    const value: unknown = JSON.parse(text);
    return fits(value) ? { value } : undefined;
  } catch {
    return undefined;
  }
}

function spelling(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function guess(text: string): unknown {
  if (text === 'true') return true;
  if (text === 'false') return false;
  if (text === 'null') return null;
  // A number that would be written otherwise, like 007, is a name.
  return text !== '' && String(Number(text)) === text ? Number(text) : text;
}
