import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { startTestRouter } from '../../testing/harness.ts';
import { openSession, post, request } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };

test('initialize answers what the specification and the contract say', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const reply = await post(router, request('initialize', params));
  assert.equal(reply.status, 200);
  assert.equal(reply.headers['mcp-protocol-version'], '2025-06-18');
  assert.equal(reply.json.result.protocolVersion, '2025-06-18');
  assert.equal(reply.json.result.serverInfo.name, 'ploinky-router');
  assert.equal(typeof reply.json.result.instructions, 'string');
  assert.ok(String(reply.headers['mcp-session-id']).length <= 1024);
});

test('an unknown revision is answered with the newest of the era', limits, async (t) => {
  const router = await startTestRouter(t, []);
  const reply = await post(
    router,
    request('initialize', { protocolVersion: '1999-01-01', capabilities: {} }),
  );
  assert.equal(reply.json.result.protocolVersion, '2025-11-25');
});

test('notifications are accepted with 202 and no body', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  for (const path of ['/mcp', '/mcps/demo/mcp']) {
    const headers = await openSession(router, path);
    const reply = await post(
      router,
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { headers, path },
    );
    assert.equal(reply.status, 202);
    assert.equal(reply.text, '');
  }
});

test('no session is 400, an unknown, foreign or damaged one 404', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }]);
  const aggregate = await openSession(router);
  const single = await openSession(router, '/mcps/demo/mcp');
  const list = request('tools/list');
  const missing = await post(router, list);
  assert.equal(missing.status, 400);
  assert.equal(missing.json.error.message, 'Missing or invalid MCP session');
  const damaged = { ...aggregate, 'mcp-session-id': `${aggregate['mcp-session-id']}A` };
  assert.equal((await post(router, list, { headers: damaged })).status, 404);
  assert.equal((await post(router, list, { headers: { ...aggregate, 'mcp-session-id': 'x' } })).status, 404);
  assert.equal((await post(router, list, { headers: single })).status, 404);
  assert.equal((await post(router, list, { headers: single, path: '/mcps/other/mcp' })).status, 404);
  assert.equal((await post(router, list, { headers: aggregate, path: '/mcps/demo/mcp' })).status, 404);
  assert.equal((await post(router, list, { headers: single, path: '/mcps/demo/mcp' })).status, 200);
});

test(
  'a session survives a router that is replaced, and one that was sealed with another master does not',
  limits,
  async (t) => {
    const first = await startTestRouter(t, [{ name: 'demo' }]);
    const second = await startTestRouter(t, [{ name: 'demo' }]);
    const headers = await openSession(first);
    assert.equal((await post(second, request('ping'), { headers })).status, 200);
    const other = await startTestRouter(t, [], {
      keys: { current: () => [{ kid: '00000000', secret: Buffer.alloc(32, 3) }] },
    });
    assert.equal((await post(other, request('ping'), { headers })).status, 404);
  },
);

test('a session expires', limits, async (t) => {
  let later = 0;
  const clock = { ...systemClock, now: () => Date.now() + later };
  const router = await startTestRouter(t, [], { clock });
  const headers = await openSession(router);
  later = 25 * 3_600_000;
  assert.equal((await post(router, request('ping'), { headers })).status, 404);
});

test('DELETE ends a session here and at the agents', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  for (const path of ['/mcp', '/mcps/demo/mcp']) {
    const headers = await openSession(router, path);
    assert.equal((await post(router, undefined, { method: 'DELETE', headers, path })).status, 204);
    assert.equal((await post(router, request('ping'), { headers, path })).status, 404);
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(router.agents[0]?.seen.filter((seen) => seen.method === 'DELETE').length, 2);
});

test('DELETE without a session is 204, as in Ploinky', limits, async (t) => {
  const router = await startTestRouter(t, []);
  assert.equal((await post(router, undefined, { method: 'DELETE' })).status, 204);
});

test('GET without a session is 405 with Allow', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  for (const path of ['/mcp', '/mcps/demo/mcp']) {
    const reply = await post(router, undefined, { method: 'GET', path });
    assert.equal(reply.status, 405);
    assert.equal(reply.headers['allow'], 'POST, DELETE');
    assert.deepEqual(reply.json, { error: 'event_stream_not_supported' });
  }
});

test(
  'an agent keeps the state of each session apart, whichever endpoint it came through',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }]);
    const one = await openSession(router);
    const two = await openSession(router);
    const direct = await openSession(router, '/mcps/demo/mcp');
    const count = async (headers: Record<string, string>, path = '/mcp') =>
      (await post(router, request('tools/call', { name: 'count' }), { headers, path })).json.result.content[0]
        .text;
    assert.deepEqual(
      [await count(one), await count(one), await count(two), await count(direct, '/mcps/demo/mcp')],
      ['1', '2', '1', '1'],
    );
  },
);

test('capabilities too many for an id are left out instead of failing', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const capabilities = { experimental: { long: 'x'.repeat(5000) }, sampling: {} };
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 't', version: '1' } };
  const reply = await post(router, request('initialize', params));
  const headers = { 'mcp-session-id': String(reply.headers['mcp-session-id']) };
  const who = await post(router, request('tools/call', { name: 'whoami' }), { headers });
  assert.deepEqual(JSON.parse(who.json.result.content[0].text).mcp.capabilities, { sampling: {} });
});

test('interleaved calls of two clients with the same ids get their own answers', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other', tools: [{ name: 'say' }] }]);
  const base = await router.listen();
  const sessions = [await openSession(router), await openSession(router)];
  const calls = Array.from({ length: 400 }, async (_, index) => {
    const client = index % 2;
    const text = `client ${client} call ${index}`;
    const name = index % 3 === 0 ? 'say' : 'echo';
    const answer = await fetch(`${base}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...sessions[client],
      },
      body: JSON.stringify(request('tools/call', { name, arguments: { text } }, 1)),
    });
    const body = (await answer.json()) as { result: { content: { text: string }[] } };
    assert.equal(body.result.content[0]?.text, `${name === 'say' ? 'other' : 'demo'}: ${text}`);
  });
  await Promise.all(calls);
});
