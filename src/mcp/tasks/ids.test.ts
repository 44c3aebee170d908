import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  durablePlace,
  joinTaskId,
  qualifyTaskId,
  readQualifiedTaskId,
  slotOfTask,
  splitTaskId,
} from './ids.ts';

const name = { instance: 'a1b2', place: '', code: 'c0de_-9', id: '786512e2-9e0d-44bd-8f29-789f320fe840' };

test('an id says in the clear where its task runs, and can stand in a header (K1)', () => {
  const text = joinTaskId(name);
  assert.equal(text, 'a1b2..c0de_-9.786512e2-9e0d-44bd-8f29-789f320fe840');
  assert.deepEqual(splitTaskId(text), name);
  const odd = joinTaskId({ ...name, place: 'p.1', id: 'größe 1/2.x' });
  assert.match(odd, /^[\x21-\x7e]+$/);
  assert.equal(splitTaskId(odd)?.id, 'größe 1/2.x');
});

test('the id of a durable task names its replica too', () => {
  for (const slot of [0, 12, undefined]) {
    const text = joinTaskId({ ...name, place: durablePlace(slot) });
    const split = splitTaskId(text);
    assert.equal(split && slotOfTask(split), slot);
  }
  assert.equal(slotOfTask(name), undefined);
});

test('whatever a server calls its task comes back', () => {
  const part = fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' });
  fc.assert(
    fc.property(part, part, part, (instance, place, id) => {
      assert.deepEqual(splitTaskId(joinTaskId({ instance, place, code: 'c', id })), {
        instance,
        place,
        code: 'c',
        id,
      });
    }),
  );
});

test('nothing else is an id, nor is another spelling of one', () => {
  fc.assert(fc.property(fc.anything(), (value) => splitTaskId(value) === undefined));
  for (const text of [
    '',
    'a',
    'a..b',
    'a..c.',
    '...x',
    'a..c.%',
    'a..c.%41',
    'a..c.d e',
    `a..c.${'x'.repeat(2048)}`,
  ])
    assert.equal(splitTaskId(text), undefined, text);
});

test('behind several agents an id begins with its agent (K9)', () => {
  const text = qualifyTaskId('demo', joinTaskId(name));
  assert.deepEqual(readQualifiedTaskId(text), { agent: 'demo', id: joinTaskId(name) });
  for (const other of ['demo', '/x', '', 7, undefined]) assert.equal(readQualifiedTaskId(other), undefined);
});
