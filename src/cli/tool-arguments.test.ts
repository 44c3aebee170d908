import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exitCodeOf } from './errors.ts';
import { buildArguments, describeIssues, parseJson } from './tool-arguments.ts';

const schema = {
  properties: {
    text: { type: 'string' },
    user: { properties: { name: { type: 'string' } } },
    tags: { type: 'array', items: { type: 'string' } },
    options: { type: 'object' },
  },
};
const cases: [string, string[], unknown][] = [
  [
    'true, false, null and numbers are such',
    ['a=true', 'b=false', 'c=null', 'd=1.5'],
    { a: true, b: false, c: null, d: 1.5 },
  ],
  ['a number that does not round-trip stays text', ['a=007', 'b=1e3', 'c='], { a: '007', b: '1e3', c: '' }],
  [
    'what the schema calls a string stays one',
    ['text=42', 'user.name=true'],
    { text: '42', user: { name: 'true' } },
  ],
  [
    'dots build objects and [] builds lists',
    ['x.y.z=1', 'x.y.w=2', 'tags[]=1', 'tags[]=b'],
    { x: { y: { z: 1, w: 2 } }, tags: ['1', 'b'] },
  ],
  ['a value may hold equal signs', ['text=a=b=c'], { text: 'a=b=c' }],
  ['an object may be given as JSON', ['options={"deep":[1]}'], { options: { deep: [1] } }],
];
for (const [name, pairs, expected] of cases) {
  test(name, () => assert.deepEqual(buildArguments(pairs, schema), expected));
}

test('a pair without key, a prototype and broken JSON are wrong command lines', () => {
  for (const wrong of [
    () => buildArguments(['novalue'], {}),
    () => buildArguments(['=x'], {}),
    () => buildArguments(['__proto__.a=1'], {}),
    () => buildArguments(['options={'], schema),
    () => parseJson('{'),
  ]) {
    assert.throws(wrong, (error) => exitCodeOf(error) === 2);
  }
  assert.equal(({} as { a?: unknown }).a, undefined);
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
