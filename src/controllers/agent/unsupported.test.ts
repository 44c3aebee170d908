import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeAgent } from './testing.ts';
import { unsupportedFields } from './unsupported.ts';

const git = { url: 'https://git.test/a', ca: { configMapKeyRef: { name: 'authority', key: 'ca.crt' } } };

test('a git source, whoever signed its server, is for pods; elsewhere its field and what to use are named', () => {
  const { spec } = makeAgent({ code: { git } });
  assert.deepEqual(unsupportedFields(spec, 'Pod'), []);
  for (const runtime of ['Bwrap', 'Process'] as const) {
    const [refusal, ...others] = unsupportedFields(spec, runtime);
    assert.equal(refusal?.reason, 'NotSupported');
    assert.match(
      refusal?.message ?? '',
      /^spec\.code\.git does not work with runtime class \w+; use spec\.code\.path/,
    );
    assert.deepEqual(others, []);
  }
});

test('a folder of the machine is for sandboxes; for pods the other sources are named', () => {
  const { spec } = makeAgent({ code: { path: 'demo' } });
  assert.deepEqual(unsupportedFields(spec, 'Bwrap'), []);
  assert.match(unsupportedFields(spec, 'Pod')[0]?.message ?? '', /^spec\.code\.path[\s\S]*spec\.code\.git/);
});
