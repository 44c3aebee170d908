import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { deriveAgentKey, deriveSubkey } from '#wire/keys.ts';
import { type MintOptions, mintInvocation } from '#wire/token.ts';
import { agentOf, master, startTestRouter, type TestRouter } from '../../testing/harness.ts';
import { openSession, post, request, stateless } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const path = '/mcps/demo/mcp';

test('everything passes through: names, capabilities, errors, ids', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }]);
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const hello = await post(router, request('initialize', params, 'i'), { path });
  assert.equal(hello.json.id, 'i');
  assert.equal(hello.json.result.serverInfo.name, 'fake-agent');
  assert.equal(hello.json.result.protocolVersion, '2025-06-18');
  const headers = { 'mcp-session-id': String(hello.headers['mcp-session-id']) };
  const list = await post(router, request('tools/list'), { path, headers });
  assert.deepEqual(
    list.json.result.tools.map((tool: object) => Object.keys(tool)),
    [
      ['name', 'description', 'inputSchema'],
      ['name', 'inputSchema'],
    ],
  );
  assert.equal(list.json.result.nextCursor, '2', 'pages are the agent’s own');
  const call = await post(router, request('tools/call', { name: 'echo', arguments: { text: 'x' } }), {
    path,
    headers,
  });
  assert.equal(call.json.result.content[0].text, 'demo: x');
  const unknown = await post(router, request('no/such'), { path, headers });
  assert.equal(unknown.json.error.code, -32601);
  assert.deepEqual(router.agents[1]?.seen, []);
});

test('the stateless era passes through, statuses too', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const list = await stateless(router, 'tools/list', {}, { path });
  assert.equal(list.json.result.resultType, 'complete');
  const unknown = await stateless(router, 'no/such', {}, { path });
  assert.equal(unknown.status, 404);
  assert.equal(unknown.json.error.code, -32601);
  const mismatch = await stateless(router, 'tools/list', {}, { path, id: 7, headers: { 'mcp-method': 'x' } });
  assert.deepEqual([mismatch.status, mismatch.json.id, mismatch.json.error.code], [400, 7, -32020]);
});

test('what is no JSON-RPC is refused as Ploinky does', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const reply = await post(router, { command: 'list_tools' }, { path });
  assert.equal(reply.status, 400);
  assert.deepEqual(reply.json, { error: 'unsupported request for agent MCP proxy' });
});

test('paths beside mcp and task, and unknown agents, get Ploinky’s 404s', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const other = await post(router, undefined, { method: 'GET', path: '/mcps/demo/foo' });
  assert.equal(other.status, 404);
  assert.deepEqual(other.json, { error: 'Endpoint not found. Use /mcps/<agent>/mcp for MCP access.' });
  const unknown = await post(router, request('ping'), { path: '/mcps/zzz/mcp' });
  assert.equal(unknown.status, 404);
  assert.equal(unknown.text, 'API Route not found');
});

test('a body that is no JSON, no JSON-RPC, too deep or too large is refused', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { bodyBytes: 10_000 } });
  for (const endpoint of [path, '/mcp']) {
    assert.equal((await post(router, '{', { path: endpoint })).json.error.code, -32700);
    assert.equal((await post(router, '{"jsonrpc":"1.0"}', { path: endpoint })).json.error.code, -32600);
    const deep = `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(100)}1${'}'.repeat(100)}}`;
    assert.equal((await post(router, deep, { path: endpoint })).json.error.code, -32600);
    assert.equal((await post(router, JSON.stringify('x'.repeat(20_000)), { path: endpoint })).status, 413);
    const plain = await post(router, 'x', { path: endpoint, headers: { 'content-type': 'text/plain' } });
    assert.equal(plain.status, 415);
    const long = await post(router, request('x'.repeat(200)), { path: endpoint });
    assert.equal(long.json.error.code, -32602);
  }
});

async function tokenFor(
  router: TestRouter,
  change: Partial<MintOptions> = {},
  secretOf = master,
): Promise<string> {
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  return mintInvocation(deriveAgentKey(secretOf, demo.identity), {
    agent: demo.identity,
    instance: demo.instance,
    caller: 'router:first-party',
    user: { sub: 'u', id: 'u', email: '', username: 'u', roles: ['admin'] },
    call: { tool: 'anything', arguments: {} },
    now: Date.now(),
    random: systemRandom,
    delegation: deriveSubkey(secretOf, 'delegation'),
    ...change,
  });
}

test(
  'an agent calls another with the token it was given: its name and its user go on, no session needed',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }]);
    const headers = { 'x-ploinky-caller-jwt': await tokenFor(router) };
    const reply = await post(router, request('tools/call', { name: 'whoami', arguments: {} }), {
      path: '/mcps/other/mcp',
      headers,
    });
    const claims = JSON.parse(reply.json.result.content[0].text);
    assert.equal(claims.caller, 'agent:default/demo');
    assert.equal(claims.aud, 'agent:default/other');
    assert.equal(claims.usr.id, 'u');
    assert.equal(claims.hop, 1);
  },
);

test(
  'the token that a tool really got works, through as many agents as may call each other',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }]);
    let headers: Record<string, string> = await openSession(router, path);
    let endpoint = path;
    for (let hop = 0; hop <= 8; hop += 1) {
      const reply = await post(router, request('tools/call', { name: 'whoami' }), {
        path: endpoint,
        headers,
      });
      assert.equal(JSON.parse(reply.json.result.content[0].text).hop, hop);
      const agent = router.agents.find((candidate) => endpoint.includes(candidate.identity.name));
      headers = { 'x-ploinky-caller-jwt': agent?.seen.at(-1)?.token ?? '' };
      endpoint = endpoint === path ? '/mcps/other/mcp' : path;
    }
    const last = await post(router, request('tools/call', { name: 'whoami' }), { path: endpoint, headers });
    assert.equal(last.status, 401, 'a loop ends');
  },
);

const badTokens: Record<string, (router: TestRouter) => Promise<string>> = {
  'no token at all': async () => 'x',
  'another master': (router) => tokenFor(router, {}, { kid: 'x', secret: Buffer.alloc(32, 5) }),
  'claims that the agent signed itself': async (router) => {
    const [demo] = router.agents;
    assert.ok(demo !== undefined);
    const key = deriveAgentKey(master, demo.identity);
    return tokenFor(router, { delegation: key });
  },
  'a token that expired': (router) => tokenFor(router, { now: Date.now() - 200_000 }),
  'an instance that is gone': (router) => tokenFor(router, { instance: 'gone' }),
  'an agent that does not exist': (router) =>
    tokenFor(router, { agent: { namespace: 'default', name: 'nobody', uid: 'x' } }),
};
for (const [what, make] of Object.entries(badTokens)) {
  test(`delegation with ${what} is refused before anything is called`, limits, async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }]);
    const headers = { 'x-ploinky-caller-jwt': await make(router) };
    const reply = await post(router, request('tools/call', { name: 'whoami' }), {
      path: '/mcps/other/mcp',
      headers,
    });
    assert.equal(reply.status, 401);
    assert.equal(reply.json.error, 'invocation_rejected');
    assert.deepEqual(router.agents[1]?.seen, []);
  });
}

test('a delegated call is a direct tools/call and nothing else', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const headers = { 'x-ploinky-caller-jwt': await tokenFor(router) };
  const reply = await post(router, request('tools/list'), { path, headers });
  assert.equal(reply.json.error.code, -32600);
  assert.equal(reply.json.error.message, 'Delegated agent calls must use a direct tools/call request.');
});

test('an agent that is starting is waited for by watch, then answered for', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { readyWaitMs: 2_000 } });
  const headers = await openSession(router, path);
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  router.tables.set([agentOf(demo, { ready: false })]);
  setTimeout(() => router.tables.set([agentOf(demo)]), 50);
  const reply = await post(router, request('ping', {}, 5), { path, headers });
  assert.deepEqual(reply.json, { jsonrpc: '2.0', id: 5, result: {} });
});

test(
  'an agent that stays away gets the contract’s error, one that is suspended at once',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { readyWaitMs: 50 } });
    const headers = await openSession(router, path);
    const [demo] = router.agents;
    assert.ok(demo !== undefined);
    router.tables.set([agentOf(demo, { ready: false })]);
    const reply = await post(router, request('ping'), { path, headers });
    assert.equal(reply.status, 200);
    assert.equal(reply.json.error.code, -32000);
    assert.equal(reply.json.error.message, "Agent 'demo' is still starting. Try again in a moment.");
    const condition = {
      type: 'Ready',
      status: 'False' as const,
      reason: 'Suspended',
      message: 'suspend is true',
      lastTransitionTime: '',
    };
    router.tables.set([{ ...agentOf(demo, { ready: false }), status: { conditions: [condition] } }]);
    const suspended = await post(router, request('ping'), { path, headers });
    assert.equal(suspended.json.error.message, "Agent 'demo' is not running (Suspended): suspend is true");
  },
);
