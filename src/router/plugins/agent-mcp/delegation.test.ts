import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oncePerObject } from '#kit/memo.ts';
import { systemRandom } from '#kit/random.ts';
import type { Access } from '#routing/access.ts';
import type { RoutingTable } from '#routing/table.ts';
import { deriveAgentKey, deriveSubkey } from '#wire/keys.ts';
import { type MintOptions, mintInvocation } from '#wire/token.ts';
import { agentOf, editableTables, master, startTestRouter, type TestRouter } from '../../testing/harness.ts';
import { post, request } from '../../testing/mcp-client.ts';

// What a delegated call may use: no more than the person, and no more than any agent on the way.

const limits = { timeout: 30_000 };

function tokenOf(router: TestRouter, index: number, change: Partial<MintOptions> = {}): string {
  const agent = router.agents[index] ?? assert.fail('no such agent');
  return mintInvocation(deriveAgentKey(master, agent.identity), {
    ...{ agent: agent.identity, instance: agent.instance, caller: 'router:first-party' },
    user: { sub: 'u', id: 'u', email: '', username: 'u', roles: ['admin'] },
    call: { tool: 'anything', arguments: {} },
    ...{ now: Date.now(), random: systemRandom, delegation: deriveSubkey(master, 'delegation') },
    ...change,
  });
}

function start(t: Parameters<typeof startTestRouter>[0]): Promise<TestRouter> {
  return startTestRouter(t, [{ name: 'demo' }, { name: 'other' }, { name: 'third' }]);
}

const call = (router: TestRouter, agent: string, token: string, headers: Record<string, string> = {}) =>
  post(router, request('tools/call', { name: 'whoami', arguments: {} }), {
    path: `/mcps/${agent}/mcp`,
    headers: { 'x-ploinky-caller-jwt': token, ...headers },
  });
const claimsOf = ({ json }: Awaited<ReturnType<typeof call>>) => JSON.parse(json.result.content[0].text);
/** The token that an agent got last. */
const seenBy = (router: TestRouter, index: number) =>
  router.agents[index]?.seen.at(-1)?.token ?? assert.fail('it got none');

test('the chain of agents and the scopes of the person go through every hop', limits, async (t) => {
  const router = await start(t);
  const first = claimsOf(await call(router, 'other', tokenOf(router, 0, { scopes: ['read', 'write'] })));
  assert.deepEqual([first.caller, first.lim], ['agent:default/demo', ['read', 'write']]);
  assert.deepEqual(first.act, { sub: 'agent:default/demo' });
  const second = claimsOf(await call(router, 'third', seenBy(router, 1)));
  assert.deepEqual([second.caller, second.lim, second.hop], ['agent:default/other', ['read', 'write'], 2]);
  assert.deepEqual(second.act, { sub: 'agent:default/other', act: { sub: 'agent:default/demo' } });
  assert.equal(second.usr.id, 'u');
});

test('whom nothing limits is limited by nobody', limits, async (t) => {
  const router = await start(t);
  const claims = claimsOf(await call(router, 'other', tokenOf(router, 0)));
  assert.deepEqual([claims.lim, claims.tls], [undefined, undefined]);
});

test('an agent may ask for less, and what it left out stays out', limits, async (t) => {
  const router = await start(t);
  const token = tokenOf(router, 0, { scopes: ['read', 'write'] });
  const less = claimsOf(await call(router, 'other', token, { 'x-ploinky-scopes': 'read' }));
  assert.deepEqual(less.lim, ['read']);
  const back = await call(router, 'third', seenBy(router, 1), { 'x-ploinky-scopes': 'read write' });
  assert.equal(back.status, 401);
  assert.match(back.text, /scope not held/);
  const none = claimsOf(await call(router, 'other', token, { 'x-ploinky-scopes': '' }));
  assert.deepEqual(none.lim, []);
  // The control: what it did not leave out is there.
  assert.deepEqual(claimsOf(await call(router, 'third', token)).lim, ['read', 'write']);
});

test('an agent never gets more than the person has, by whatever name it asks', limits, async (t) => {
  const router = await start(t);
  const token = tokenOf(router, 0, { scopes: ['read'], tools: ['who*'] });
  for (const headers of [
    { 'x-ploinky-scopes': 'read admin' },
    { 'x-ploinky-scopes': '*' },
    { 'x-ploinky-tools': '*' },
    { 'x-ploinky-tools': 'who*, drop' },
    { 'x-ploinky-tools': 'wh*' },
  ]) {
    const refused = await call(router, 'other', token, headers);
    assert.equal(refused.status, 401, JSON.stringify(headers));
  }
  assert.equal(router.agents[1]?.seen.length, 0);
});

test('tools that an agent left out cannot be called further on, nor by another way', limits, async (t) => {
  const router = await start(t);
  const token = tokenOf(router, 0);
  const ok = await call(router, 'other', token, { 'x-ploinky-tools': 'whoami, read_*' });
  assert.deepEqual(claimsOf(ok).tls, ['whoami', 'read_*']);
  const narrow = seenBy(router, 1);
  assert.equal((await call(router, 'third', narrow)).status, 200);
  for (const name of ['write', 'read', 'whoami2']) {
    const refused = await post(router, request('tools/call', { name, arguments: {} }), {
      path: '/mcps/third/mcp',
      headers: { 'x-ploinky-caller-jwt': narrow },
    });
    assert.equal(refused.status, 401, name);
  }
  const around = await post(router, request('tools/call', { name: 'third_whoami', arguments: {} }), {
    path: '/mcp',
    headers: { 'x-ploinky-caller-jwt': narrow },
  });
  assert.equal(around.status, 401);
});

test(
  'a delegated token is good at one target, and no agent can widen what it was given',
  limits,
  async (t) => {
    const router = await start(t);
    await call(router, 'other', tokenOf(router, 0, { scopes: ['read'] }));
    const given = seenBy(router, 1);
    const [head = '', payload = '', signature = ''] = given.split('.');
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
    assert.equal(claims.aud, 'agent:default/other');
    const other = router.agents[1] ?? assert.fail();
    for (const change of [
      { lim: ['read', 'admin'] },
      { lim: undefined },
      { act: undefined },
      { aud: 'agent:default/third' },
    ]) {
      const forged = Buffer.from(JSON.stringify({ ...claims, ...change })).toString('base64url');
      assert.equal((await call(router, 'third', `${head}.${forged}.${signature}`)).status, 401);
      // With its own key, which it has, and without the router's.
      const own = mintInvocation(deriveAgentKey(master, other.identity), {
        ...{
          agent: other.identity,
          instance: other.instance,
          caller: 'x',
          user: claims.usr,
          scopes: ['admin'],
        },
        ...{ call: { tool: 'x', arguments: {} }, now: Date.now(), random: systemRandom },
        delegation: deriveAgentKey(master, other.identity),
      });
      assert.equal((await call(router, 'third', own)).status, 401);
    }
    assert.equal((await call(router, 'third', given)).status, 200, 'the control');
  },
);

test('tools that were left out stay out where the agent has rules', limits, async (t) => {
  const source = editableTables();
  const access: Access = { mode: 'none', realm: '', issuers: [], allow: [{ tools: ['*'] }] };
  const withRules = oncePerObject((table: RoutingTable): RoutingTable => {
    const targets = new Map([...table.targets].map(([key, target]) => [key, { ...target, access }]));
    return { ...table, targets, guarded: new Map([...targets.keys()].map((key) => [key, access])) };
  });
  const tables = { ...source, current: () => withRules(source.current()) };
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }], { tables });
  source.set(router.agents.map((agent) => agentOf(agent)));
  const narrow = tokenOf(router, 0, { tools: ['who*'] });
  const send = (body: unknown, token: string, path = '/mcps/other/mcp') =>
    post(router, body, { path, headers: { 'x-ploinky-caller-jwt': token } });
  const calling = (name: string) => request('tools/call', { name, arguments: {} });
  assert.deepEqual(claimsOf(await send(calling('whoami'), narrow)).tls, ['who*']);
  const { seen = [] } = router.agents[1] ?? {};
  const before = seen.length;
  for (const body of [
    calling('echo'),
    calling('call_tool'),
    request('resources/read', { uri: 'file:///x' }),
    request('tools/list'),
    [calling('whoami'), calling('echo')],
    { command: 'tool', tool: 'echo', params: {} },
  ]) {
    const refused = await send(body, narrow);
    assert.equal(refused.status, 401, JSON.stringify(body));
  }
  assert.equal((await send(calling('other_whoami'), narrow, '/mcp')).status, 401);
  assert.equal(seen.length, before);
  // The control: whom nothing limits.
  assert.notEqual((await send(calling('echo'), tokenOf(router, 0))).status, 401);
});
