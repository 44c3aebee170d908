import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { bindHttpService } from '#wire/binding.ts';
import { editablePeople, personNamed } from '../auth/testing/people.ts';
import { anonymous } from '../caller.ts';
import { agentOf, startTestRouter } from '../testing/harness.ts';
import { post, request } from '../testing/mcp-client.ts';
import { collect } from './collect.ts';

const limits = { timeout: 30_000 };

/** By which programs behind a proxy learn who calls; each with a value that is told nowhere else. */
const forged = Object.fromEntries(
  [
    ...[
      'authorization',
      'cookie',
      'proxy-authorization',
      'forwarded',
      'via',
      'x-real-ip',
      'x-user',
      'x-user-id',
    ],
    ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-user', 'x-forwarded-email'],
    ...[
      'x-forwarded-groups',
      'x-forwarded-access-token',
      'x-auth-request-user',
      'x-auth-user',
      'x-remote-user',
    ],
    ...[
      'remote-user',
      'remote-groups',
      'x-ploinky-auth-info',
      'x-ploinky-user',
      'x-original-url',
      'x-rewrite-url',
    ],
    ...['true-client-ip', 'cf-connecting-ip', 'x-client-ip', 'x-webauth-user', 'x-ms-client-principal-name'],
    ...['x-goog-authenticated-user-email', 'x-amzn-oidc-identity', 'ssl-client-cert', 'x-ssl-client-verify'],
    ...['x-envoy-internal', 'mcp-session-id'],
  ].map((name) => [name, `forged-${name}`]),
);

async function startStand(t: TestContext) {
  const people = editablePeople('default/demo-users', [personNamed('ana')]);
  const router = await startTestRouter(t, [{ name: 'demo' }], { people });
  const [fake] = router.agents;
  if (fake === undefined) throw new Error('no agent');
  return { router, fake };
}

const leaked = (seen: { readonly headers: object }): string[] =>
  Object.entries(seen.headers).flatMap(([name, value]) => (String(value).includes('forged-') ? [name] : []));

test(
  'nothing else on the way takes identity headers and cookies off: unstripped they reach an agent',
  limits,
  async (t) => {
    const { router, fake } = await startStand(t);
    // One that comes with another token than the router’s is refused by the agent: seen below.
    const { authorization, ...unstripped } = forged;
    const call = {
      ...{ agent: 'default/demo', method: 'GET', path: '/api/x', headers: unstripped, caller: anonymous },
      binding: bindHttpService('GET', '/api/x', ''),
    };
    assert.equal((await collect(router.services.sender, call, { maxBytes: 100_000 })).status, 200);
    assert.deepEqual(fake.seen.flatMap(leaked).sort(), Object.keys(unstripped).sort());
    const taken = { ...call, headers: { authorization: String(authorization) } };
    assert.equal((await collect(router.services.sender, taken, { maxBytes: 100_000 })).status, 401);
  },
);

test(
  'of what a client says of itself no header and no cookie reaches an agent, by any way',
  limits,
  async (t) => {
    const { router, fake } = await startStand(t);
    const own = { 'x-custom': 'forged-not-at-all' };
    // A session of MCP that was made up is refused, not passed on.
    const { 'mcp-session-id': session = '', ...headers } = forged;
    await post(router, '{}', { method: 'PUT', path: '/apis/demo/x', headers: { ...forged, ...own } });
    assert.deepEqual(fake.seen.flatMap(leaked), ['x-custom'], 'the control: its other headers do');
    const before = fake.seen.length;
    await post(router, undefined, { method: 'GET', path: '/demo/page.html', headers });
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 't', version: '1' },
    };
    for (const path of ['/mcps/demo/mcp', '/mcp'])
      await post(router, request('initialize', params), { path, headers });
    await post(router, request('tools/list'), {
      path: '/mcps/demo/mcp',
      headers: { 'mcp-session-id': session },
    });
    await post(router, undefined, { method: 'GET', path: '/mcps/demo/task?taskId=abc', headers });
    await post(router, undefined, {
      method: 'GET',
      path: '/.ploinky/task?agent=default/demo&taskId=abc',
      headers,
    });
    assert.ok(fake.seen.length >= before + 4, `only ${fake.seen.length - before} arrived`);
    assert.deepEqual(fake.seen.slice(before).flatMap(leaked), []);
  },
);

test(
  'the cookie by which somebody is known does not reach the agent, which is told who it is',
  limits,
  async (t) => {
    const { router, fake } = await startStand(t);
    const agent = agentOf(fake);
    router.tables.set([{ ...agent, spec: { ...agent.spec, auth: { mode: 'pwd' } } }]);
    const login = await post(
      router,
      { username: 'ana', password: 'correct horse' },
      { path: '/auth/login', headers: { accept: 'application/json' } },
    );
    const cookie = `${String(login.headers['set-cookie']).split(';')[0]}; other=forged-cookie`;
    const answer = await post(router, undefined, {
      method: 'GET',
      path: '/apis/demo/x',
      headers: { cookie },
    });
    assert.equal(answer.status, 200);
    const [seen] = fake.seen;
    assert.deepEqual([seen?.headers['cookie'], seen?.claims.usr?.username], [undefined, 'ana']);
  },
);
