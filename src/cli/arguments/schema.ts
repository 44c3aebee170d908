import { isObject } from '#kit/json.ts';

/** A JSON Schema, as far as a command line needs it. */
export type Schema = Readonly<Record<string, unknown>>;

/** A schema with what its `$ref` names below the same root; at most a few steps, since they may be circular. */
export function resolve(schema: unknown, root: Schema): Schema {
  let node = schema;
  for (let step = 0; step < 8 && isObject(node) && typeof node['$ref'] === 'string'; step++) {
    const { $ref: reference, ...rest } = node;
    const found = at(root, String(reference));
    node = isObject(found) ? { ...found, ...rest } : rest;
  }
  return isObject(node) ? node : {};
}

function at(root: Schema, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  const parts = reference.slice(2).split('/');
  return parts.reduce<unknown>((node, part) => {
    const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    return isObject(node) && Object.hasOwn(node, name) ? node[name] : undefined;
  }, root);
}

/** The alternatives of anyOf and oneOf; the schema itself when it has none. */
export function alternativesOf(schema: Schema, root: Schema): Schema[] {
  const listed = schema['anyOf'] ?? schema['oneOf'];
  if (!Array.isArray(listed) || listed.length === 0) return [schema];
  return listed.map((each) => resolve(each, root));
}

export function typesOf(schema: Schema): string[] {
  const { type } = schema;
  const types = Array.isArray(type) ? type : [type];
  return types.filter((each) => typeof each === 'string');
}

/** The only values that are allowed; undefined: any. */
export function choicesOf(schema: Schema): readonly unknown[] | undefined {
  if ('const' in schema) return [schema['const']];
  return Array.isArray(schema['enum']) ? schema['enum'] : undefined;
}

/** Declared members, by name; empty where none are declared. */
export function propertiesOf(schema: Schema): Readonly<Record<string, unknown>> {
  return isObject(schema['properties']) ? schema['properties'] : {};
}

/** Whether members that are not declared are meant to be given. Without any declaration, all of them are. */
export function takesOthers(schema: Schema): boolean {
  const { additionalProperties: others, patternProperties: patterns } = schema;
  if (others === true || isObject(others) || isObject(patterns)) return true;
  return others !== false && Object.keys(propertiesOf(schema)).length === 0;
}

const words: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
  object: 'a JSON object',
};

/** What a value must be, for a person: `a number`, `one of "a", "b"`. */
export function describeSchema(schema: Schema, root: Schema): string {
  const choices = choicesOf(schema);
  if (choices?.length === 1) return JSON.stringify(choices[0]);
  if (choices !== undefined) return `one of ${choices.map((each) => JSON.stringify(each)).join(', ')}`;
  const alternatives = alternativesOf(schema, root);
  if (alternatives.length > 1) {
    return [...new Set(alternatives.map((each) => describeSchema(each, root)))].join(' or ');
  }
  const types = typesOf(schema).map((type) => (type === 'array' ? describeList(schema, root) : words[type]));
  const known = types.filter((type) => type !== undefined);
  return known.length === 0 ? 'any value' : known.join(' or ');
}

function describeList(schema: Schema, root: Schema): string {
  const items = describeSchema(resolve(schema['items'], root), root);
  return items === 'any value' ? 'a list' : `a list, each ${items}`;
}
