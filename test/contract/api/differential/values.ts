import fc from 'fast-check';
import type { Schema } from '#apiserver/schema/schema.ts';

/** How much of what is drawn is wrong: `valid` obeys the schema but for its CEL rules, `flawed` breaks it here and there. */
export type Care = 'valid' | 'flawed';

const junk = fc.constantFrom<unknown>(
  null,
  'text',
  '',
  7,
  -1,
  1.5,
  5_000_000_000,
  true,
  [],
  {},
  [null],
  { nope: 1 },
  ['a', 'a'],
);
const free = fc.constantFrom<unknown>(
  {},
  { a: 1 },
  { a: { b: [1, null] } },
  { a: null },
  { x: 'y', b: true },
);

const made = {
  valid: new WeakMap<Schema, fc.Arbitrary<unknown>>(),
  flawed: new WeakMap<Schema, fc.Arbitrary<unknown>>(),
};

/** A value of the schema. */
export function drawValue(schema: Schema, care: Care): fc.Arbitrary<unknown> {
  const known = made[care].get(schema) ?? newValue(schema, care);
  made[care].set(schema, known);
  return known;
}

function newValue(schema: Schema, care: Care): fc.Arbitrary<unknown> {
  const valid = ownValue(schema, care);
  return care === 'valid'
    ? valid
    : fc.oneof({ weight: 12, arbitrary: valid }, { weight: 1, arbitrary: junk });
}

function ownValue(schema: Schema, care: Care): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema['x-kubernetes-int-or-string'] === true)
    return fc.constantFrom<unknown>(1, 80, '100m', '1Gi', '1');
  switch (schema.type) {
    case 'integer':
      return fc.integer({
        min: schema.minimum ?? 0,
        max: Math.min(schema.maximum ?? 6, (schema.minimum ?? 0) + 6),
      });
    case 'number':
      return fc.constantFrom(1, 1.5, 2, 0.25);
    case 'boolean':
      return fc.boolean();
    case 'string':
      return textOf(schema);
    case 'array':
      return listOf(schema, care);
    default:
      return objectOf(schema, care);
  }
}

function textOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.format === 'date-time')
    return fc.constantFrom(
      '2026-01-02T03:04:05Z',
      '2026-01-02T03:04:05.123456Z',
      '2026-01-02T03:04:05+02:00',
    );
  if (schema.format === 'byte') return fc.constantFrom('', 'YQ==', 'YWI=', 'YWJj');
  if (schema.pattern !== undefined)
    return fc.stringMatching(new RegExp(schema.pattern), { maxLength: Math.min(schema.maxLength ?? 16, 16) });
  const { minLength = 0, maxLength = 64 } = schema;
  const texts = ['', 'a', 'b', 'ab', 'x y', 'dé', 'Up'].filter(
    (text) => text.length >= minLength && text.length <= maxLength,
  );
  return fc.constantFrom(...texts);
}

function listOf(schema: Schema, care: Care): fc.Arbitrary<unknown> {
  const { items = {}, minItems = 0, maxItems = 3 } = schema;
  const lengths = { minLength: minItems, maxLength: Math.min(maxItems, minItems + 2) };
  const list = fc.array(drawValue(items, care), lengths);
  const keys = schema['x-kubernetes-list-map-keys'];
  const isSet = schema['x-kubernetes-list-type'] === 'set';
  if (care === 'flawed' || (keys === undefined && !isSet)) return list;
  const identity = (item: unknown) =>
    JSON.stringify(
      keys === undefined ? item : keys.map((key) => (item as Record<string, unknown>)[key] ?? null),
    );
  return list.map((items) => [...new Map(items.map((item) => [identity(item), item])).values()]);
}

/** Few members at a time, so that what is drawn stays small. */
function objectOf(schema: Schema, care: Care): fc.Arbitrary<unknown> {
  const rest = schema.additionalProperties;
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length === 0) {
    if (typeof rest !== 'object')
      return schema['x-kubernetes-preserve-unknown-fields'] ? free : fc.constant({});
    return fc.dictionary(fc.constantFrom('a', 'b', 'k.x'), drawValue(rest, care), { maxKeys: 2 });
  }
  const members = properties.map(([name, member]) => fc.tuple(fc.constant(name), drawValue(member, care)));
  const unknown = fc.tuple(fc.constantFrom('nope', 'extra'), junk);
  const chosen = care === 'flawed' ? [...members, unknown] : members;
  const needed = properties.filter(([name]) => care === 'valid' && schema.required?.includes(name));
  const required = fc.tuple(
    ...needed.map(([name, member]) => fc.tuple(fc.constant(name), drawValue(member, care))),
  );
  return fc
    .tuple(required, fc.array(fc.oneof(...chosen), { maxLength: 3 }))
    .map(([first, more]) => Object.fromEntries([...more, ...first]));
}

/** A merge patch: some members of the schema, some of them null. */
export function patchOf(schema: Schema, care: Care): fc.Arbitrary<unknown> {
  const properties = Object.entries(schema.properties ?? {});
  const rest = schema.additionalProperties;
  if (properties.length === 0 && typeof rest !== 'object') return drawValue(schema, care);
  const members = (
    properties.length > 0 ? properties : ['a', 'b'].map((name) => [name, rest as Schema] as const)
  ).map(([name, member]) => {
    const below = member.type === 'object' ? patchOf(member, care) : drawValue(member, care);
    return fc.tuple(
      fc.constant(name),
      fc.oneof({ weight: 4, arbitrary: below }, { weight: 1, arbitrary: fc.constant(null) }),
    );
  });
  return fc.array(fc.oneof(...members), { maxLength: 3 }).map((entries) => Object.fromEntries(entries));
}

/** Places in a value of the schema, as JSON pointers, with what belongs there. */
export function placesOf(schema: Schema, at: string, depth: number): { pointer: string; schema: Schema }[] {
  if (depth === 0) return [];
  const below = Object.entries(schema.properties ?? {}).flatMap(([name, member]) => [
    { pointer: `${at}/${name}`, schema: member },
    ...placesOf(member, `${at}/${name}`, depth - 1),
  ]);
  const { items, additionalProperties: rest } = schema;
  if (items !== undefined)
    for (const index of ['0', '-'])
      below.push(
        { pointer: `${at}/${index}`, schema: items },
        ...placesOf(items, `${at}/${index}`, depth - 1),
      );
  if (typeof rest === 'object') below.push({ pointer: `${at}/a`, schema: rest });
  return below;
}
