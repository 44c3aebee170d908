import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isReservedName, isSecretName, readStored, storeAlias, storeValue } from './secrets.ts';

test('every value is read as it was stored, also one that looks like an alias', () => {
  const dollars = fc.stringMatching(/^\$*[A-Za-z_]?[A-Za-z0-9_ ]*$/);
  fc.assert(
    fc.property(fc.oneof(fc.string(), dollars), (value) =>
      assert.deepEqual(readStored(storeValue(value)), { value }),
    ),
  );
  assert.deepEqual(readStored(storeAlias('OTHER')), { alias: 'OTHER' });
});

test('what would give the master away is no name for anybody', () => {
  for (const name of ['PLOINKY_MASTER_KEY', 'PLOINKY_PREVIOUS_MASTER_KEY', 'PLOINKY_WIRE_SECRET'])
    assert.ok(isReservedName(name), name);
  assert.ok(!isReservedName('MASTER_KEY'));
  assert.ok(!isSecretName('A-B') && !isSecretName('') && !isSecretName('1A') && isSecretName('_A1'));
});
