import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkReaper } from './checks.ts';

test('before anything is built a missing reaper is no warning and asks for no compiler', () => {
  const unbuilt = checkReaper({ missing: 'dist/reaper is not built yet', isUnbuilt: true }, 'linux');
  assert.equal(unbuilt.level, 'ok');
  assert.match(unbuilt.detail, /first `ploinky up` builds it/);
  assert.equal(checkReaper({ missing: 'dist/reaper is not there' }, 'linux').level, 'warn', 'the control');
});
