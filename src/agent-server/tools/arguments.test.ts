import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RpcError } from '#mcp/jsonrpc.ts';
import { readInputSchema } from '../config/field-map.ts';
import { compileArguments } from './arguments.ts';
import { compilePattern } from './pattern.ts';

function check(inputSchema: unknown, input?: unknown) {
  const { schema, strips } = readInputSchema(inputSchema, input);
  return { schema, ...compileArguments('t', schema, strips) };
}
const paths = (validate: (args: unknown) => unknown, args: unknown) => {
  try {
    validate(args);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RpcError);
    return JSON.parse(error.message.slice('Invalid arguments for tool t: '.length)).map(
      (issue: { path: unknown }) => issue.path,
    );
  }
};

const maps: Record<string, [unknown, unknown]> = {
  'a type by its name': ['string', { type: 'string' }],
  'an unknown type takes anything': [{ type: 'integer', description: 'd' }, { description: 'd' }],
  'bounds of a text': [
    { type: 'string', minLength: 1, maxLength: 3 },
    { type: 'string', minLength: 1, maxLength: 3 },
  ],
  'bounds of a number': [
    { type: 'number', min: 1, max: 3 },
    { type: 'number', minimum: 1, maximum: 3 },
  ],
  choices: [
    { type: 'string', enum: ['a', 'b'] },
    { type: 'string', enum: ['a', 'b'] },
  ],
  'a nullable text': [{ type: 'string', nullable: true }, { type: ['string', 'null'] }],
  'a list of it': [
    { type: 'number', isArray: true },
    { type: 'array', items: { type: 'number' } },
  ],
  'a list without items is of texts': [
    { type: 'array', minItems: 1 },
    { type: 'array', items: { type: 'string' }, minItems: 1 },
  ],
  'a list of objects': [
    { type: 'array', items: { type: 'object', properties: { a: 'string' } } },
    {
      type: 'array',
      items: {
        type: 'object',
        properties: { a: { type: 'string' } },
        required: ['a'],
        additionalProperties: false,
      },
    },
  ],
  'an open object': [
    { type: 'object', additionalProperties: true },
    { type: 'object', properties: {}, additionalProperties: true },
  ],
};
for (const [name, [field, expected]] of Object.entries(maps)) {
  test(`field map: ${name}`, () => {
    assert.deepEqual((check({ f: field }).schema['properties'] as Record<string, unknown>)['f'], expected);
  });
}

test('fields are required unless they are optional', () => {
  assert.deepEqual(check({ a: 'string', b: { type: 'string', optional: true } }).schema['required'], ['a']);
});

test('JSON Schema is recognised under both keys and kept as it is', () => {
  const schema = { type: 'object', properties: { type: { type: 'string' } }, additionalProperties: false };
  assert.equal(check(schema).schema, schema);
  assert.equal(check(undefined, schema).schema, schema);
  assert.deepEqual(paths(check(schema).validate, { other: 1 }), [['other']]);
});

test('a field map drops unknown arguments; no schema drops all', () => {
  assert.deepEqual(check({ a: 'string' }).validate({ a: 'x', b: 1 }), { a: 'x' });
  assert.deepEqual(check(undefined).validate({ b: 1 }), {});
  assert.deepEqual(check(undefined).validate(undefined), {});
});

test('what is wrong is told by its path', () => {
  const { validate } = check({ a: 'string', list: { type: 'array', items: 'number', optional: true } });
  assert.deepEqual(paths(validate, {}), [['a']]);
  assert.deepEqual(paths(validate, { a: 1 }), [['a']]);
  assert.deepEqual(paths(validate, { a: 'x', list: [1, 'y'] }), [['list', 1]]);
  assert.deepEqual(paths(validate, 'text'), [[]]);
});

test('a property that is called like a keyword is no keyword', () => {
  const schema = {
    type: 'object',
    properties: {
      pattern: { type: 'string', pattern: '^a' },
      format: { type: 'number' },
      enum: { pattern: '^b', type: 'string' },
    },
  };
  const { validate } = check(schema);
  assert.equal(paths(validate, { pattern: 'ab', format: 1, enum: 'b' }), undefined);
  assert.deepEqual(paths(validate, { pattern: 'b' }), [['pattern']]);
  assert.deepEqual(paths(validate, { enum: 'a' }), [['enum']]);
});

test('__proto__ in arguments pollutes nothing', () => {
  check({ type: 'object' }).validate(
    JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'),
  );
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

const evil: Record<string, string> = {
  'nested repetition': '^(a+)+$',
  'overlapping alternatives': '^(a|a)*$',
  'repetition in repetition': '^([a-z]+)*$',
  'adjacent repetition': '^a*a*a*a*a*a*a*a*a*b$',
};
for (const [name, pattern] of Object.entries(evil)) {
  test(`a pattern with ${name} is checked in bounded time`, () => {
    const { validate } = check({ type: 'object', properties: { s: { type: 'string', pattern } } });
    const started = performance.now();
    assert.deepEqual(paths(validate, { s: `${'a'.repeat(20_000)}!` }), [['s']]);
    assert.ok(performance.now() - started < 2000, `${performance.now() - started} ms`);
  });
}

test('without the bound the same pattern runs for long, so that the tests above prove something', () => {
  const started = performance.now();
  /^(a+)+$/u.test(`${'a'.repeat(24)}!`);
  const unbounded = performance.now() - started;
  const again = performance.now();
  compilePattern('^(a+)+$')?.matches(`${'a'.repeat(24)}!`);
  assert.ok(unbounded > 10 * (performance.now() - again), `${unbounded} ms`);
});

test('a pattern that only a backtracking engine can run and that could run for long is not checked, with a warning', () => {
  const { validate, warnings } = check({
    type: 'object',
    properties: { s: { type: 'string', pattern: '(?=a)(a+)+$' } },
  });
  assert.match(warnings.join(), /pattern of #\/properties\/s/);
  assert.equal(paths(validate, { s: 'zzz' }), undefined);
});

test('a harmless look-ahead is checked for short texts, and long ones are refused', () => {
  const { validate, warnings } = check({
    type: 'object',
    properties: { s: { type: 'string', pattern: '^(?!x)[a-z]+$' } },
  });
  assert.deepEqual(warnings, []);
  assert.equal(paths(validate, { s: 'abc' }), undefined);
  assert.deepEqual(paths(validate, { s: 'xbc' }), [['s']]);
  assert.deepEqual(paths(validate, { s: 'a'.repeat(300) }), [['s']]);
});

test('compiled patterns agree with RegExp', () => {
  const sources = ['^[a-c]{2,4}$', 'a|bc', '^\\d+(\\.\\d+)?$', '\\bfoo\\b', '^(?:ab)*$', '^\\p{L}+$'];
  fc.assert(
    fc.property(fc.constantFrom(...sources), fc.string({ maxLength: 12 }), (source, text) => {
      const expected = new RegExp(source, 'u').test(text);
      assert.equal(compilePattern(source)?.matches(text), expected);
    }),
  );
});

const bomb = {
  $ref: '#/$defs/a0',
  $defs: Object.fromEntries(
    Array.from({ length: 40 }, (_, index) => {
      const next = { $ref: `#/$defs/a${index + 1}` };
      return [`a${index}`, index === 39 ? {} : { allOf: [next, next] }];
    }),
  ),
};
const unique = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } };
const objects = (count: number) => ({ list: Array.from({ length: count }, (_, index) => ({ index })) });
const endless: Record<string, [schema: Record<string, unknown>, args: object, why: RegExp]> = {
  'a schema that doubles at each step': [bomb, {}, /took more than 50 ms/],
  'a schema that is itself': [{ $ref: '#' }, {}, /without end/],
  'a pattern that looks at each of millions of characters': [
    { type: 'object', properties: { text: { type: 'string', pattern: '\\s+$' } } },
    { text: `${' '.repeat(9_000_000)}x` },
    /took more than 50 ms/,
  ],
  'a list whose items are all compared': [unique, objects(30_000), /took more than 50 ms/],
};
for (const [what, [schema, args, why]] of Object.entries(endless)) {
  test(`${what} is refused when its time is up`, { timeout: 20_000 }, () => {
    const check = compileArguments('tool', schema, false, 50);
    assert.throws(() => check.validate(args), why);
  });
}

test('a long text is matched by the linear engine, for a pattern whose loops the other would run again and again', () => {
  const pattern = compilePattern('\\s+$');
  const begun = performance.now();
  assert.equal(pattern?.matches(`${' '.repeat(100_000)}x`), false);
  assert.equal(pattern?.matches(`x${' '.repeat(100_000)}`), true);
  assert.ok(performance.now() - begun < 5_000);
});

test('schemas with the same keywords that end in time are checked as ever', () => {
  const check = compileArguments('tool', unique, false, 10_000);
  assert.deepEqual(check.validate(objects(50)), objects(50));
  assert.throws(() => check.validate({ list: [1, 1] }), /Invalid arguments/);
  const doubled = { allOf: [unique, { required: ['list'] }] };
  assert.throws(() => compileArguments('tool', doubled, false).validate({}), /Invalid arguments/);
});
