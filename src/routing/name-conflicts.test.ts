import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeConflicts, encodeConflicts, joinConflicts, type NameConflict } from './name-conflicts.ts';

const echo: NameConflict = { kind: 'tools', name: 'echo', agents: ['a', 'b'] };
const doc: NameConflict = { kind: 'resources', name: 'doc://a', agents: ['a', 'c'] };

test('what a router writes is what the controller reads', () => {
  const conflicts = new Map([
    ['default/b', [echo]],
    ['default/a', [doc, echo]],
  ]);
  assert.deepEqual(decodeConflicts(encodeConflicts(conflicts)), new Map([...conflicts].sort()));
  assert.equal(encodeConflicts(new Map()), '');
});

test('nothing of what cannot be read counts', () => {
  for (const text of [undefined, '', 'x', '[]', '{"default/a":3}', 'null'])
    assert.equal(decodeConflicts(text).size, 0);
  const odd = decodeConflicts('{"default/a":[["tools","x",["a",3]],["odd","y",["a"]],["tools",3,[]]]}');
  assert.deepEqual(odd.get('default/a'), [{ kind: 'tools', name: 'x', agents: ['a'] }]);
});

test('however many there are, an annotation is small', () => {
  const many = Array.from({ length: 500 }, (_, index) => ({ ...echo, name: `${index}${'x'.repeat(300)}` }));
  const routes = new Map(Array.from({ length: 500 }, (_, index) => [`default/r${index}`, many] as const));
  const text = encodeConflicts(routes);
  assert.ok(Buffer.byteLength(text) <= 16 * 1024);
  assert.equal(decodeConflicts(text).get('default/r0')?.length, 20);
});

test('several routers’ words are joined', () => {
  const joined = joinConflicts([
    new Map([['default/a', [echo]]]),
    new Map([['default/a', [{ ...echo, agents: ['c'] }, doc]]]),
  ]);
  assert.deepEqual(joined.get('default/a'), [doc, { ...echo, agents: ['a', 'b', 'c'] }]);
});
