import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InvocationClaims } from '#wire/claims.ts';
import type { WireKey } from '#wire/keys.ts';
import type { CallContext } from '../../source.ts';
import { createTaskNames, ownerOf } from './names.ts';

const keyOf = (byte: number): WireKey => ({ kid: `key-${byte}`, secret: Buffer.alloc(32, byte) });
const namesBy = (keys: readonly WireKey[], instance = 'one') =>
  createTaskNames({ keys: () => keys, instance });
const unknown = { code: -32_602 };

test('a task has the same id each time, at every instance that has the key (K1)', () => {
  const names = namesBy([keyOf(1)]);
  const id = names.mint('ana', '', 'task-1');
  assert.equal(namesBy([keyOf(1)]).mint('ana', '', 'task-1'), id);
  assert.notEqual(names.mint('ana', 'place', 'task-1'), id);
  assert.notEqual(namesBy([keyOf(1)], 'two').mint('ana', '', 'task-1'), id);
  const { code: _code, ...name } = namesBy([keyOf(1)], 'two').read('ana', id);
  assert.deepEqual(name, { instance: 'one', place: '', id: 'task-1' });
});

test('an id is good for its owner alone, and no other can be made from it (K1, K2)', () => {
  const names = namesBy([keyOf(1)]);
  const id = names.mint('ana', '', 'task-1');
  assert.throws(() => names.read('ben', id), unknown);
  for (let at = 0; at < id.length; at += 1) {
    const changed = `${id.slice(0, at)}${id[at] === 'x' ? 'y' : 'x'}${id.slice(at + 1)}`;
    assert.throws(() => names.read('ana', changed), unknown, changed);
  }
  for (const other of ['task-1', '', undefined, 7, {}])
    assert.throws(() => names.read('ana', other), unknown);
  assert.throws(() => namesBy([keyOf(2)]).read('ana', id), unknown);
});

test('ids outlive one change of the key (K1)', () => {
  const id = namesBy([keyOf(1)]).mint('ana', '', 'task-1');
  assert.equal(namesBy([keyOf(2), keyOf(1)]).read('ana', id).id, 'task-1');
  assert.throws(() => namesBy([keyOf(3), keyOf(2)]).read('ana', id), unknown);
});

test('an id of the server that cannot travel is refused', () => {
  const names = namesBy([keyOf(1)]);
  for (const id of ['', 'x'.repeat(513), '\ud800'])
    assert.throws(() => names.mint('ana', '', id), { code: -32_603 });
});

test('a task is the user’s, else the session’s, else the caller’s (K2)', () => {
  const of = (sub: string, session?: string, caller = 'router:first-party') =>
    ownerOf({ claims: { caller, sub } as InvocationClaims, session } as CallContext);
  assert.equal(of('ana', 's1'), of('ana', 's2'));
  assert.equal(of('ana', 's1'), of('ana'));
  assert.notEqual(of('ana', 's1'), of('ben', 's1'));
  assert.notEqual(of('', 's1'), of('', 's2'));
  assert.notEqual(of('', 's1'), of(''));
  assert.notEqual(of('ana', 's1', 'agent:default/other'), of('ana', 's1'));
});
