import { isObject } from '#kit/json.ts';
import type { Schema } from '../arguments/schema.ts';
import { harmless } from '../terminal.ts';

/** One field of a form that a server wants filled in (MCP, elicitation: a flat object of simple values). */
export interface Field {
  readonly name: string;
  readonly required: boolean;
  /** What is asked for, its kind and limits, in a line. */
  readonly label: string;
  readonly description: string | undefined;
  readonly choices: readonly Choice[];
  readonly initial: unknown;
  /** Reads what was typed; an empty line takes the default, or leaves out what is not required. */
  read(text: string): Typed;
}

export interface Choice {
  readonly value: string;
  readonly title: string;
}

export type Typed =
  | { readonly value: unknown }
  | { readonly left: 'out' }
  /** Why it is refused. */
  | { readonly wrong: string };

/** The fields of `requestedSchema`, in its order. */
export function fieldsOf(requestedSchema: unknown): Field[] {
  if (!isObject(requestedSchema) || !isObject(requestedSchema['properties'])) return [];
  const { required } = requestedSchema;
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(requestedSchema['properties']).map(([name, schema]) =>
    fieldOf(name, isObject(schema) ? schema : {}, needed.has(name)),
  );
}

function fieldOf(name: string, schema: Schema, required: boolean): Field {
  const choices = choicesOf(schema['type'] === 'array' ? schema['items'] : schema);
  const initial = schema['default'];
  const read = readerOf(schema, choices);
  return {
    name,
    required,
    label: `${harmless(textOf(schema['title']) ?? name)} (${[kindOf(schema, choices), required ? 'required' : 'optional'].join(', ')})`,
    description: textOf(schema['description']),
    choices,
    initial,
    read(text) {
      if (text.trim() !== '') return read(text);
      if (initial !== undefined) return { value: initial };
      return required ? { wrong: 'It is required.' } : { left: 'out' };
    },
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Of any of the three ways in which MCP writes an enumeration; empty when it is none. */
function choicesOf(schema: unknown): Choice[] {
  if (!isObject(schema)) return [];
  const titled = schema['oneOf'] ?? schema['anyOf'];
  if (Array.isArray(titled)) {
    return titled.filter(isObject).flatMap(({ const: value, title }) => {
      return typeof value === 'string' ? [{ value, title: textOf(title) ?? value }] : [];
    });
  }
  const names = Array.isArray(schema['enumNames']) ? schema['enumNames'] : [];
  const values = Array.isArray(schema['enum']) ? schema['enum'] : [];
  return values
    .filter((value) => typeof value === 'string')
    .map((value, index) => ({ value, title: textOf(names[index]) ?? value }));
}

function kindOf(schema: Schema, choices: readonly Choice[]): string {
  if (schema['type'] === 'array')
    return `some of these, with commas${limitsOf(schema, 'minItems', 'maxItems')}`;
  if (choices.length > 0) return 'one of these';
  if (schema['type'] === 'boolean') return 'yes or no';
  if (schema['type'] === 'integer') return `a whole number${limitsOf(schema, 'minimum', 'maximum')}`;
  if (schema['type'] === 'number') return `a number${limitsOf(schema, 'minimum', 'maximum')}`;
  return formats[String(schema['format'])]?.words ?? 'text';
}

function limitsOf(schema: Schema, low: string, high: string): string {
  const [from, to] = [schema[low], schema[high]];
  if (from !== undefined && to !== undefined) return ` from ${from} to ${to}`;
  if (from !== undefined) return `, at least ${from}`;
  return to === undefined ? '' : `, at most ${to}`;
}

type Reader = (text: string) => Typed;

function readerOf(schema: Schema, choices: readonly Choice[]): Reader {
  if (schema['type'] === 'array') return (text) => readSome(text, schema, choices);
  if (choices.length > 0) return (text) => readOne(text, choices);
  if (schema['type'] === 'boolean') return readBoolean;
  if (schema['type'] === 'integer' || schema['type'] === 'number') return (text) => readNumber(text, schema);
  return (text) => readText(text, schema);
}

/** By value, by title, or by its number in the list, in this order: values may be numbers themselves. */
function readOne(text: string, choices: readonly Choice[]): Typed {
  const wanted = text.trim();
  const found =
    choices.find(({ value }) => value === wanted) ??
    choices.find(({ title }) => title.toLowerCase() === wanted.toLowerCase()) ??
    (/^\d+$/.test(wanted) ? choices[Number(wanted) - 1] : undefined);
  if (found !== undefined) return { value: found.value };
  return { wrong: `"${wanted}" is none of them. Type a number from 1 to ${choices.length}, or the value.` };
}

function readSome(text: string, schema: Schema, choices: readonly Choice[]): Typed {
  const typed = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part): Typed => (choices.length === 0 ? { value: part } : readOne(part, choices)));
  const wrong = typed.find((each) => 'wrong' in each);
  if (wrong !== undefined) return wrong;
  const values = [...new Set(typed.map((each) => ('value' in each ? each.value : undefined)))];
  return outside(values.length, schema, ['minItems', 'maxItems'])
    ? { wrong: `Choose as many as are wanted${limitsOf(schema, 'minItems', 'maxItems')}.` }
    : { value: values };
}

function readBoolean(text: string): Typed {
  const word = text.trim().toLowerCase();
  if (['y', 'yes', 'true'].includes(word)) return { value: true };
  if (['n', 'no', 'false'].includes(word)) return { value: false };
  return { wrong: 'Type yes or no.' };
}

function readNumber(text: string, schema: Schema): Typed {
  const value = Number(text.trim());
  const isWhole = schema['type'] === 'integer';
  if (!Number.isFinite(value) || (isWhole && !Number.isSafeInteger(value))) {
    return { wrong: `Type a ${isWhole ? 'whole ' : ''}number.` };
  }
  if (!outside(value, schema, ['minimum', 'maximum'])) return { value };
  return { wrong: `It must be a number${limitsOf(schema, 'minimum', 'maximum')}.` };
}

function readText(text: string, schema: Schema): Typed {
  const format = formats[String(schema['format'])];
  if (format !== undefined && !format.fits(text.trim())) return { wrong: `Type ${format.words}.` };
  if (!outside([...text].length, schema, ['minLength', 'maxLength'])) {
    return { value: format === undefined ? text : text.trim() };
  }
  return { wrong: `Its length must be${limitsOf(schema, 'minLength', 'maxLength').replace(/^,/, '')}.` };
}

function outside(size: number, schema: Schema, [low, high]: readonly [string, string]): boolean {
  const [from, to] = [schema[low], schema[high]];
  return (typeof from === 'number' && size < from) || (typeof to === 'number' && size > to);
}

const formats: Readonly<Record<string, { words: string; fits: (text: string) => boolean }>> = {
  email: { words: 'an e-mail address', fits: (text) => /^[^\s@]+@[^\s@]+$/.test(text) },
  uri: { words: 'an address like https://…', fits: (text) => URL.canParse(text) },
  date: {
    words: 'a date like 2026-01-31',
    fits: (text) => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  },
  'date-time': {
    words: 'a time like 2026-01-31T10:00:00Z',
    fits: (text) => /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text)),
  },
};
