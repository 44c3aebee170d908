import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedTools, identitiesOf, nameSome } from './tool-identity.ts';

const add = {
  name: 'add',
  description: 'adds',
  inputSchema: { type: 'object', properties: { a: {}, b: {} } },
};
const echo = { name: 'echo', inputSchema: { type: 'object' } };

test('a tool is another one when what its users rely on differs, and only then', () => {
  const before = identitiesOf([add, echo]);
  const change = (changed: object) => changedTools(before, identitiesOf([{ ...add, ...changed }, echo]));
  for (const other of [
    { description: 'adds, and sends them to me' },
    { inputSchema: { type: 'object' } },
    { outputSchema: { type: 'object' } },
    { annotations: { readOnlyHint: true } },
  ])
    assert.deepEqual(change(other), ['add'], JSON.stringify(other));
  for (const same of [
    {},
    { title: 'Add' },
    { _meta: { x: 1 } },
    { inputSchema: { properties: { b: {}, a: {} }, type: 'object' } },
  ])
    assert.deepEqual(change(same), [], JSON.stringify(same));
});

test('tools that come and go are no change', () => {
  assert.deepEqual(changedTools(identitiesOf([add]), identitiesOf([echo])), []);
});

test('names in sentences are few and hide nothing', () => {
  assert.equal(nameSome(['a\u202E', 'b'], 1), 'a and 1 more');
  assert.equal(nameSome(['a', 'b']), 'a, b');
});
