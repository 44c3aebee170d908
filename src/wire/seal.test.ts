import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { deriveSubkey } from './keys.ts';
import { seal, unseal } from './seal.ts';
import { masterKey } from './testing.ts';

const current = deriveSubkey(masterKey(1), 'session-seal');
const previous = deriveSubkey(masterKey(2), 'session-seal');

test('what is sealed comes back, also after the key became the previous one', () => {
  const sealed = seal([current], 'session', { user: 'u1', exp: 5 });
  assert.deepEqual(unseal([current], 'session', sealed), { user: 'u1', exp: 5 });
  assert.deepEqual(unseal([previous, current], 'session', sealed), { user: 'u1', exp: 5 });
});

test('another key or purpose opens nothing', () => {
  const sealed = seal([current], 'session', { user: 'u1' });
  assert.equal(unseal([previous], 'session', sealed), undefined);
  assert.equal(unseal([current], 'cursor', sealed), undefined);
});

test('one changed character anywhere opens nothing', () => {
  const sealed = seal([current], 'session', { user: 'u1' });
  for (let at = 0; at < sealed.length; at += 1) {
    const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1);
    assert.equal(unseal([current], 'session', changed), undefined, `character ${at}`);
  }
});

test('no text whatever makes unseal throw', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 2000 }), (text) => unseal([current], 'session', text) === undefined),
  );
});

test('a sealed value over 1 KiB is refused', () => {
  assert.throws(() => seal([current], 'session', { long: 'x'.repeat(800) }), { code: 'SealTooLarge' });
});

test('the same payload seals to another text each time', () => {
  assert.notEqual(seal([current], 'session', {}), seal([current], 'session', {}));
});
