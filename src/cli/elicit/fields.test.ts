import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Field, fieldsOf, type Typed } from './fields.ts';

const schema = {
  type: 'object',
  properties: {
    name: {
      type: 'string',
      title: 'Your name',
      description: 'As others call you.',
      minLength: 2,
      maxLength: 5,
    },
    mail: { type: 'string', format: 'email' },
    home: { type: 'string', format: 'uri' },
    day: { type: 'string', format: 'date' },
    time: { type: 'string', format: 'date-time' },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    score: { type: 'number', default: 9.5 },
    ok: { type: 'boolean' },
    plain: { type: 'string', enum: ['a', '2', '1'] },
    named: { type: 'string', enum: ['o1', 'o2'], enumNames: ['Option One', 'Option Two'] },
    titled: {
      type: 'string',
      oneOf: [
        { const: 'v1', title: 'First' },
        { const: 'v2', title: 'Second' },
      ],
    },
    many: { type: 'array', items: { type: 'string', enum: ['x', 'y', 'z'] }, minItems: 1, maxItems: 2 },
    manyTitled: { type: 'array', items: { anyOf: [{ const: 'v1', title: 'First' }] } },
  },
  required: ['name', 'age'],
};
const fields = new Map<string, Field>(fieldsOf(schema).map((field) => [field.name, field]));

const cases: [string, string, Typed][] = [
  ['name', 'Ana', { value: 'Ana' }],
  ['name', '', { wrong: 'It is required.' }],
  ['name', 'A', { wrong: 'Its length must be from 2 to 5.' }],
  ['mail', '', { left: 'out' }],
  ['mail', ' ana@example.com ', { value: 'ana@example.com' }],
  ['mail', 'ana', { wrong: 'Type an e-mail address.' }],
  ['home', 'https://a.example/', { value: 'https://a.example/' }],
  ['home', 'a', { wrong: 'Type an address like https://….' }],
  ['day', '2026-01-31', { value: '2026-01-31' }],
  ['day', '31.1.2026', { wrong: 'Type a date like 2026-01-31.' }],
  ['time', 'now', { wrong: 'Type a time like 2026-01-31T10:00:00Z.' }],
  ['age', '31', { value: 31 }],
  ['age', '1.5', { wrong: 'Type a whole number.' }],
  ['age', '151', { wrong: 'It must be a number from 0 to 150.' }],
  ['score', '', { value: 9.5 }],
  ['score', 'x', { wrong: 'Type a number.' }],
  ['ok', 'Yes', { value: true }],
  ['ok', 'n', { value: false }],
  ['ok', 'maybe', { wrong: 'Type yes or no.' }],
  // A value counts before a number in the list.
  ['plain', '2', { value: '2' }],
  ['plain', '1', { value: '1' }],
  ['plain', '3', { value: '1' }],
  ['plain', '4', { wrong: '"4" is none of them. Type a number from 1 to 3, or the value.' }],
  ['named', 'option two', { value: 'o2' }],
  ['titled', '1', { value: 'v1' }],
  ['titled', 'second', { value: 'v2' }],
  ['many', 'x, 3, x', { value: ['x', 'z'] }],
  ['many', 'x,y,z', { wrong: 'Choose as many as are wanted from 1 to 2.' }],
  ['many', 'x,q', { wrong: '"q" is none of them. Type a number from 1 to 3, or the value.' }],
  ['manyTitled', 'First', { value: ['v1'] }],
];
for (const [name, text, expected] of cases) {
  test(`${name}: ${JSON.stringify(text)} is ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(fields.get(name)?.read(text), expected);
  });
}

test('a field tells its kind, its limits and whether it is needed', () => {
  assert.equal(fields.get('name')?.label, 'Your name (text, required)');
  assert.equal(fields.get('age')?.label, 'age (a whole number from 0 to 150, required)');
  assert.equal(fields.get('many')?.label, 'many (some of these, with commas from 1 to 2, optional)');
});

test('a schema without fields is an empty form', () => {
  for (const none of [undefined, {}, { properties: [] }, 'x']) assert.deepEqual(fieldsOf(none), []);
});
