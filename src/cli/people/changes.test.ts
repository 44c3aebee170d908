import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiKey, People } from '#api/people.ts';
import { personNamed, removeKey } from './changes.ts';
import { sameUsers } from './options.ts';

const keyOf = (id: string, name: string): ApiKey => ({
  ...{ id, name, user: 'local:ana', hash: '0'.repeat(64), created: '2026-01-01T00:00:00Z' },
});
const people: People = {
  ...{ version: 1, users: [] },
  keys: [keyOf('aaaa1111', 'ci'), keyOf('bbbb2222', 'twice'), keyOf('cccc3333', 'twice')],
};
const left = (asked: string) => removeKey(people, asked, ' --agent x').keys.map(({ id }) => id);

test('a key is revoked by its id, and by its name where that is unique', () => {
  assert.deepEqual(left('ci'), ['bbbb2222', 'cccc3333']);
  assert.deepEqual(left('bbbb2222'), ['aaaa1111', 'cccc3333']);
  assert.throws(() => left('twice'), /2 keys have the name twice/);
});

test('a remedy names the command with the options that were given', () => {
  const remedyOf = (run: () => unknown) => {
    let remedy: string | undefined;
    assert.throws(run, (error: Error & { remedy?: string }) => {
      remedy = error.remedy;
      return true;
    });
    return remedy ?? '';
  };
  assert.match(
    remedyOf(() => left('nope')),
    /`ploinky key list --agent x`/,
  );
  assert.match(
    remedyOf(() => personNamed(people, 'bob', ' --agent x')),
    /`ploinky user list --agent x`/,
  );
  assert.equal(sameUsers({ agent: 'x' }), ' --agent x');
  assert.equal(
    sameUsers({ route: 'r', namespace: 'n', workspace: "a b'c" }),
    " --route r --workspace 'a b'\\''c' --namespace n",
  );
  assert.equal(sameUsers({}), '');
});
