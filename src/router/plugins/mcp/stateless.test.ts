import assert from 'node:assert/strict';
import { test } from 'node:test';
import { metaKeys } from '#mcp/eras.ts';
import { startTestRouter } from '../../testing/harness.ts';
import { type PostOptions, post, stateless } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' };

test('server/discover says what the router can do', limits, async (t) => {
  const router = await startTestRouter(t, []);
  const { status, json } = await stateless(router, 'server/discover');
  assert.equal(status, 200);
  assert.deepEqual(json.result.supportedVersions, ['2026-07-28']);
  assert.equal(json.result.capabilities.tools.listChanged, true);
  assert.equal(json.result.resultType, 'complete');
  assert.equal(json.result._meta[metaKeys.serverInfo].name, 'ploinky-router');
  assert.ok('ttlMs' in json.result && 'cacheScope' in json.result);
});

const refusals: Record<string, { body: object; options?: PostOptions; status: number; code: number }> = {
  'no client capabilities in _meta': {
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: { _meta: { [metaKeys.protocolVersion]: '2026-07-28' } },
    },
    options: { headers },
    status: 400,
    code: -32602,
  },
  'no Mcp-Method header': {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } },
    options: { headers: { 'mcp-protocol-version': '2026-07-28' } },
    status: 400,
    code: -32020,
  },
  'another Mcp-Method': {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { _meta: meta, name: 'echo' } },
    options: { headers },
    status: 400,
    code: -32020,
  },
  'another Mcp-Name': {
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { _meta: meta, name: 'echo' } },
    options: { headers: { ...headers, 'mcp-method': 'tools/call', 'mcp-name': 'other' } },
    status: 400,
    code: -32020,
  },
  'an unsupported revision': {
    body: {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: { _meta: { ...meta, [metaKeys.protocolVersion]: '2027-01-01' } },
    },
    options: { headers: { ...headers, 'mcp-protocol-version': '2027-01-01' } },
    status: 400,
    code: -32022,
  },
  'an unknown method': {
    body: { jsonrpc: '2.0', id: 1, method: 'no/such', params: { _meta: meta } },
    options: { headers: { ...headers, 'mcp-method': 'no/such' } },
    status: 404,
    code: -32601,
  },
  'the handshake that the revision dropped': {
    body: { jsonrpc: '2.0', id: 1, method: 'initialize', params: { _meta: meta } },
    options: { headers: { ...headers, 'mcp-method': 'initialize' } },
    status: 404,
    code: -32601,
  },
  'a method that the revision dropped': {
    body: { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: meta } },
    options: { headers: { ...headers, 'mcp-method': 'ping' } },
    status: 404,
    code: -32601,
  },
};
for (const [what, { body, options = {}, status, code }] of Object.entries(refusals)) {
  test(`a stateless request with ${what} is refused with ${status} and ${code}`, limits, async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }]);
    const reply = await post(router, body, options);
    assert.equal(reply.status, status, reply.text);
    assert.equal(reply.json.id, 1, 'the answer names the request');
    assert.equal(reply.json.error.code, code);
  });
}

test('an unknown tool is an error of the call, not of HTTP', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const { status, json } = await stateless(router, 'tools/call', { name: 'nope' });
  assert.equal(status, 200);
  assert.equal(json.error.code, -32602);
});

test('no session is made: the token names a revision and no session', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const { json } = await stateless(router, 'tools/call', { name: 'whoami', arguments: {} });
  const claims = JSON.parse(json.result.content[0].text);
  assert.equal(claims.mcp.revision, '2026-07-28');
  assert.equal(claims.mcp.session, undefined);
});

test('a prefixed tool goes on under its own name, with the header that mirrors it', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }]);
  const { json } = await stateless(router, 'tools/call', { name: 'other_echo', arguments: { text: 'hi' } });
  assert.equal(json.result.content[0].text, 'other: hi');
  const seen = router.agents[1]?.seen.at(-1);
  assert.equal(seen?.headers['mcp-name'], 'echo');
  assert.equal(JSON.parse(seen?.body ?? '').params.name, 'echo');
});
