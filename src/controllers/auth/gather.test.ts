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
  assert.equal(leftOut.length, 1);
});

test('a namespace with too much puts nobody else out', () => {
  const people = (namespace: string, name: string, bytes: number) => ({
    ...users(JSON.stringify({ version: 1, users: [], keys: [], pad: 'x'.repeat(bytes) })),
    metadata: { namespace, name },
  });
  const of = (namespace: string, name: string) => {
    const { metadata, ...agent } = asking(name);
    return { ...agent, metadata: { ...metadata, namespace } };
  };
  const greedy = ['a', 'b', 'c', 'd'].map((name) => of('greedy', name));
  const others = [of('some', 'demo'), of('others', 'demo')];
  const size = (namespace: string) => (namespace === 'greedy' ? 450_000 : 250_000);
  const secret = (namespace: string, name: string) => people(namespace, name, size(namespace));
  const { data, leftOut } = gatherAuth([...greedy, ...others], { ...sourcesOf(undefined), secret });
  assert.deepEqual([...new Set(leftOut.map((name) => name.split('/')[0]))], ['greedy']);
  assert.equal(Object.keys(data).length, 3);
  for (const namespace of ['some', 'others'])
    assert.ok(data[usersKey(`${namespace}/demo-users`)] !== undefined, namespace);
});

test('Secrets of Ploinky’s own are copied for nobody, whatever names them', () => {
  const text = 'the key of all keys';
  const data = { current: Buffer.from(text).toString('base64') };
  const secretOf = (name: string, labels?: Record<string, string>): Secret => ({
    ...{ apiVersion: 'v1', kind: 'Secret', data },
    metadata: { name, namespace: 'default', ...(labels && { labels }) },
  });
  const managed = { 'app.kubernetes.io/managed-by': 'ploinky' };
  const cases: readonly (readonly [Secret, boolean])[] = [
    [secretOf('ploinky-master'), false],
    [secretOf('ploinky-auth', managed), false],
    [secretOf('demo-agent', managed), false],
    [secretOf('team-sso'), true],
    [secretOf('other-sso', { 'app.kubernetes.io/managed-by': 'helm' }), true],
  ];
  for (const [secret, isCopied] of cases) {
    const ref = { name: secret.metadata.name, key: 'current' };
    const provider = { issuer: 'https://id.example.org', clientId: 'ploinky' };
    for (const more of [{ clientSecretRef: ref }, { ca: { secretKeyRef: ref } }]) {
      const auth = { mode: 'sso' as const, sso: { ...provider, ...more } };
      const agent = agentNamed('demo');
      const sources = sourcesOf(secret);
      const gathered = gatherAuth([{ ...agent, spec: { ...agent.spec, auth } }], sources);
      const problem = authProblemOf({ auth, namespace: 'default', name: 'demo' }, sources);
      assert.deepEqual(Object.values(gathered.data), isCopied ? [data.current] : [], ref.name);
      if (isCopied) assert.equal(problem, undefined);
      else
        assert.match(problem ?? '', /^spec\.auth\.sso\..*is Ploinky's own; nobody can log in\. Name another/);
      assert.ok(!problem?.includes(text));
    }
  }
});
