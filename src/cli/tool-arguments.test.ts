import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeError, exitCodeOf } from './errors.ts';
import { buildArguments, describeIssues, parseJson, requireArguments } from './tool-arguments.ts';

const schema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    deep: { type: 'boolean' },
    user: { type: 'object', properties: { name: { type: 'string' }, age: { type: 'integer' } } },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { type: 'integer' } },
    options: { type: 'object' },
    level: { type: 'string', enum: ['low', 'high'] },
    rank: { enum: [1, 2] },
    limit: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    id: { oneOf: [{ type: 'string' }, { type: 'integer' }] },
    shape: { $ref: '#/$defs/shape' },
    anything: {},
  },
  required: ['text', 'level'],
  $defs: { shape: { type: 'string', enum: ['round', 'square'] } },
};

const cases: [string, string[], unknown][] = [
  [
    'what the schema calls a string stays one',
    ['text=42', 'user.name=true'],
    { text: '42', user: { name: 'true' } },
  ],
  [
    'numbers and truth values become such where the schema has them',
    ['count=-3', 'ratio=1e3', 'deep=false', 'user.age=7'],
    { count: -3, ratio: 1000, deep: false, user: { age: 7 } },
  ],
  ['a list is given whole', ['tags=["a","b"]', 'sizes=[1,2]'], { tags: ['a', 'b'], sizes: [1, 2] }],
  [
    'a list is given item by item',
    ['tags=1', 'tags=b', 'sizes[]=3', 'sizes[]=4'],
    { tags: ['1', 'b'], sizes: [3, 4] },
  ],
  ['a value may hold equal signs', ['text=a=b=c'], { text: 'a=b=c' }],
  ['an object may be given as JSON', ['options={"deep":[1]}'], { options: { deep: [1] } }],
  [
    'a choice is found by its spelling',
    ['level=low', 'rank=2', 'shape=round'],
    { level: 'low', rank: 2, shape: 'round' },
  ],
  ['alternatives are tried, text last', ['limit=null', 'id=7'], { limit: null, id: 7 }],
  ['a text where no number fits', ['id=x7'], { id: 'x7' }],
  ['without a type it is what it looks like', ['anything=007'], { anything: '007' }],
  ['the last of two values counts', ['text=a', 'text=b'], { text: 'b' }],
];
for (const [name, pairs, expected] of cases) {
  test(name, () => assert.deepEqual(buildArguments(pairs, schema), expected));
}

test('without any schema values are what they look like', () => {
  const pairs = ['a=true', 'b=false', 'c=null', 'd=1.5', 'e=1e3', 'f=', 'x.y=1', 'list[]=1', 'list[]=b'];
  const expected = { a: true, b: false, c: null, d: 1.5, e: '1e3', f: '', x: { y: 1 }, list: [1, 'b'] };
  assert.deepEqual(buildArguments(pairs, {}), expected);
});

test('pairs are added to what is given, and win', () => {
  const given = { text: 'a', user: { name: 'Ana' }, tags: ['x'] };
  assert.deepEqual(buildArguments(['text=b', 'user.age=3', 'tags=y'], schema, given), {
    text: 'b',
    user: { name: 'Ana', age: 3 },
    tags: ['y'],
  });
  assert.deepEqual(given, { text: 'a', user: { name: 'Ana' }, tags: ['x'] });
});

const refusals: [string, string[], string][] = [
  ['a number that is none', ['count=many'], 'parameter count takes a whole number, not "many"'],
  ['a fraction for a whole number', ['count=1.5'], 'parameter count takes a whole number, not "1.5"'],
  ['nothing for a number', ['ratio='], 'parameter ratio takes a number, not ""'],
  ['a truth value that is none', ['deep=yes'], 'parameter deep takes true or false, not "yes"'],
  ['a choice that is not there', ['level=mid'], 'parameter level takes one of "low", "high", not "mid"'],
  ['one by reference', ['shape=oval'], 'parameter shape takes one of "round", "square", not "oval"'],
  ['an item that does not fit', ['sizes=a'], 'parameter sizes takes a list, each a whole number, not "a"'],
  ['none of the alternatives', ['limit=x'], 'parameter limit takes a whole number or null, not "x"'],
  ['a broken object', ['options={'], 'parameter options takes a JSON object, not "{"'],
  [
    'a misspelt parameter',
    ['lvel=low'],
    'this tool has no parameter "lvel"\n  Did you mean level? It takes text,',
  ],
  [
    'a misspelt one inside another',
    ['user.nmae=A'],
    'user has no parameter "nmae"\n  Did you mean name? It takes name, age.',
  ],
  ['a pair without value', ['novalue'], '-p novalue is not of the form key=value'],
  ['a pair without key', ['=x'], '-p =x is not of the form key=value'],
  ['a prototype', ['__proto__.a=1'], '-p __proto__.a=1: wrong key'],
];
for (const [name, pairs, message] of refusals) {
  test(`${name} is refused in words`, () => {
    assert.throws(
      () => buildArguments(pairs, schema),
      (error) => {
        assert.equal(exitCodeOf(error), 2);
        assert.ok(describeError(error).startsWith(message), describeError(error));
        return true;
      },
    );
    assert.equal(({} as { a?: unknown }).a, undefined);
  });
}

test('what is missing is told with what it takes', () => {
  requireArguments({ text: '', level: 'low' }, schema);
  assert.throws(
    () => requireArguments({ text: 'a' }, schema),
    (error) => {
      assert.equal(describeError(error), 'parameter level is missing\n  -p level=…   one of "low", "high"');
      return exitCodeOf(error) === 2;
    },
  );
});

test('circular references end', () => {
  const circular = { properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { $ref: '#/$defs/a' } } };
  assert.deepEqual(buildArguments(['a=1'], circular), { a: 1 });
});

test('broken JSON is a wrong command line', () => {
  assert.throws(
    () => parseJson('{'),
    (error) => exitCodeOf(error) === 2,
  );
});

test('what is wrong with arguments is told in a line each', () => {
  const list = '[{"code":"invalid_type","path":["a","b"],"message":"Required"},{"path":[],"message":"No."}]';
  assert.equal(
    describeIssues(`Invalid arguments for tool cat: ${list}`),
    'Invalid arguments for tool cat:\n  a.b: Required\n  arguments: No.',
  );
  for (const other of ['no list', 'text: [not JSON]', 'text: [{"a":1}]', `[x] ${list}`]) {
    assert.equal(describeIssues(other), other);
  }
});
