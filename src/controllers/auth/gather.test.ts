import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Secret } from '#api/meta.ts';
import { usersKey } from '#routing/access.ts';
import { agentNamed } from '#routing/testing.ts';
import { gatherAuth } from './gather.ts';
import { authProblemOf } from './references.ts';

const good = JSON.stringify({ version: 1, users: [], keys: [] });

function users(text: string, type = 'ploinky.dev/users'): Secret {
  const metadata = { name: 'demo-users', namespace: 'default' };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type,
    data: { users: Buffer.from(text).toString('base64') },
  };
}

function asking(name = 'demo') {
  const agent = agentNamed(name);
  return { ...agent, spec: { ...agent.spec, auth: { mode: 'pwd' as const } } };
}

function sourcesOf(
  secret: Secret | undefined,
  more: { unread?: string[]; current?: Record<string, string> } = {},
) {
  const found = (_: string, name: string) => (name === secret?.metadata.name ? secret : undefined);
  const unread = new Set(more.unread ?? []);
  return { secret: found, configMap: () => undefined, unread, current: more.current ?? {} };
}

test('users of Agents are copied once for all that name the Secret', () => {
  const { data, named } = gatherAuth([asking(), asking()], sourcesOf(users(good)));
  assert.deepEqual(Object.keys(data), [usersKey('default/demo-users')]);
  assert.deepEqual([...named], ['default/demo-users']);
});

test('what is not known of a namespace leaves what was copied of it as it is', () => {
  const key = usersKey('default/demo-users');
  const current = { [key]: 'b2xk', stray: 'eA==' };
  assert.deepEqual(gatherAuth([asking()], sourcesOf(undefined, { unread: ['default'], current })).data, {
    [key]: 'b2xk',
  });
  assert.deepEqual(
    gatherAuth([asking()], sourcesOf(undefined, { current })).data,
    {},
    'a Secret that is gone',
  );
});

test('a missing, strange, malformed or oversized Secret is named with field and remedy', () => {
  const problem = (secret: Secret | undefined) =>
    authProblemOf({ auth: { mode: 'pwd' }, namespace: 'default', name: 'demo' }, sourcesOf(secret));
  assert.equal(problem(users(good)), undefined);
  const cases: readonly (readonly [Secret | undefined, RegExp])[] = [
    [undefined, /does not exist.*ploinky user add/],
    [users(good, 'Opaque'), /is not of type ploinky\.dev\/users/],
    [users('{'), /is no JSON/],
    [users('{"version":1,"users":[{}]}'), /users\[0\]/],
    [users(JSON.stringify({ version: 1, users: [], pad: 'x'.repeat(600_000) })), /larger than 524288 bytes/],
  ];
  for (const [secret, expected] of cases) {
    assert.match(problem(secret) ?? '', expected);
    assert.match(problem(secret) ?? '', /^spec\.auth\.usersSecretRef: Secret "demo-users"/);
  }
});

test('what does not fit into one Secret is left out and named', () => {
  const large = users(JSON.stringify({ version: 1, users: [], keys: [], pad: 'x'.repeat(450_000) }));
  const agents = ['demo', 'two', 'three'].map(asking);
  const sources = { ...sourcesOf(large), secret: () => large };
  const { data, leftOut } = gatherAuth(agents, sources);
  assert.equal(Object.keys(data).length, 2);
  assert.deepEqual(leftOut, ['default/three']);
});
