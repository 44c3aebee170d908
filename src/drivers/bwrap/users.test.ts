import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { userIdOf } from './users.ts';

it('user ids stay the same, differ by agent and workspace, and lie where no other user is', () => {
  assert.equal(userIdOf('/ws', 'agent default/a'), userIdOf('/ws', 'agent default/a'));
  assert.notEqual(userIdOf('/ws', 'agent default/a'), userIdOf('/ws', 'agent default/b'));
  assert.notEqual(userIdOf('/ws', 'agent default/a'), userIdOf('/other', 'agent default/a'));
  fc.assert(
    fc.property(fc.string(), fc.string(), (workspace, subject) => {
      const uid = userIdOf(workspace, subject);
      return uid >= 1_879_048_192 && uid <= 2_147_483_647;
    }),
  );
});
