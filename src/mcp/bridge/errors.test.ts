import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { RpcError } from '../jsonrpc.ts';
import { errorForEra } from './errors.ts';
import { joinParkState, splitParkState } from './park-state.ts';

test('a resource that is not found has the code of the client’s era (R10)', () => {
  const before = new RpcError(-32002, 'Resource not found', { uri: 'file:///nonexistent.txt' });
  const after = errorForEra('stateless', 'resources/read', before);
  assert.deepEqual([after.code, after.message, after.data], [-32602, before.message, before.data]);
  assert.equal(errorForEra('sessions', 'resources/read', after).code, -32002);
  assert.equal(errorForEra('sessions', 'tools/call', after), after);
});

test('-32021 is an internal error before 2026-07-28 (R14), and -32042 a missing capability in it (A9)', () => {
  const missing = new RpcError(-32021, 'Needs tasks', { requiredCapabilities: { extensions: {} } });
  const old = errorForEra('sessions', 'tools/call', missing);
  assert.deepEqual([old.code, old.message, old.data], [-32603, missing.message, missing.data]);
  const url = errorForEra(
    'stateless',
    'tools/call',
    new RpcError(-32042, 'See the URL', { elicitations: [] }),
  );
  assert.equal(url.code, -32021);
  assert.deepEqual(url.data, { requiredCapabilities: { elicitation: { url: {} } } });
});

test('every other error stays as it is', () => {
  fc.assert(
    fc.property(fc.integer({ min: -32700, max: 100 }), (code) => {
      fc.pre(![-32602, -32002, -32021, -32042].includes(code));
      const error = new RpcError(code, 'x');
      assert.equal(errorForEra('sessions', 'resources/read', error), error);
      assert.equal(errorForEra('stateless', 'resources/read', error), error);
    }),
  );
});

test('a state names its instance, whatever that is called', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 80 }), (instance) => {
      assert.deepEqual(splitParkState(joinParkState(instance, 'AbC-_9')), { instance, sealed: 'AbC-_9' });
    }),
  );
});

test('anything else is no state', () => {
  for (const state of [
    undefined,
    1,
    '',
    'abc',
    'a.b.c',
    '.abc',
    'a.',
    'a.b c',
    '%zz.abc',
    `a.${'x'.repeat(3000)}`,
  ]) {
    assert.equal(splitParkState(state), undefined, String(state).slice(0, 20));
  }
});
