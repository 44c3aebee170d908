import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { masterKey } from '#wire/testing.ts';
import { anonymous } from '../caller.ts';
import { createRouterKeys } from '../keys.ts';
import { createSessions } from './sessions.ts';

test('a session id ends with the key that sealed it, also where it was opened before', () => {
  const [first, second] = [masterKey(1), masterKey(2)];
  let masters = [first];
  const keys = createRouterKeys({ current: () => masters });
  const sessions = createSessions({ keys, clock: createFakeClock(), random: systemRandom, ttlMs: 60_000 });
  const id = sessions.seal({
    ...{ key: 'k', scope: 's', user: '', revision: '2025-11-25', capabilities: {}, client: undefined },
  });
  assert.equal(sessions.open(id, 's', anonymous)?.key, 'k');
  masters = [second, first];
  assert.equal(sessions.open(id, 's', anonymous)?.key, 'k', 'the previous key is still good');
  masters = [second];
  assert.equal(sessions.open(id, 's', anonymous), undefined);
});
