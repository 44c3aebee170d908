import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routeNamed } from '#routing/testing.ts';
import { agentOf, startTestRouter } from './testing/harness.ts';
import { post, request } from './testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const paths = [
  '/mcp',
  '/mcps/demo/mcp',
  '/apis/demo/x',
  '/demo/index.html',
  '/',
  '/health',
  '/metrics',
  '/MCPBrowserClient.js',
  '/nowhere',
];
const options = {
  ports: () => [8080],
  allowedHosts: ['router.example.org', '*.agents.example.org'],
  allowedOrigins: ['https://app.example.org'],
};

const foreign: Record<string, Record<string, string>> = {
  'a foreign host': { host: 'evil.example.com' },
  'a foreign host with the right port': { host: 'evil.example.com:8080' },
  'the loopback at another port': { host: 'localhost:9999' },
  'the loopback without its port': { host: 'localhost' },
  'a name that ends like an allowed one': { host: 'evilrouter.example.org' },
  'the bare domain of a wildcard': { host: 'agents.example.org' },
  'a host with a user': { host: 'localhost:8080@evil.example.com' },
  'an empty host': { host: '' },
  'a longer name than there can be': { host: `${'a.'.repeat(130)}x.agents.example.org` },
  'another loopback address': { host: '127.0.0.2:8080' },
  'the unspecified address': { host: '0.0.0.0:8080' },
  'a decimal address': { host: '2130706433:8080' },
  'a foreign origin': { host: 'localhost:8080', origin: 'https://evil.example.com' },
  'an opaque origin': { host: 'localhost:8080', origin: 'null' },
  'the loopback at another port as origin': { host: 'localhost:8080', origin: 'http://localhost:3000' },
  'an origin with another scheme': { host: 'localhost:8080', origin: 'chrome-extension://x' },
  'an allowed name hidden in an origin': {
    host: 'localhost:8080',
    origin: 'https://router.example.org.evil.example.com',
  },
  'an origin with a path': { host: 'localhost:8080', origin: 'http://localhost:8080/x' },
};
for (const [what, headers] of Object.entries(foreign)) {
  test(`${what} is refused on every surface before any work`, limits, async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }], options);
    for (const path of paths) {
      const method = path === '/mcp' || path === '/mcps/demo/mcp' ? 'POST' : 'GET';
      const reply = await post(router, method === 'POST' ? request('ping') : undefined, {
        path,
        headers,
        method,
      });
      assert.equal(reply.status, 403, `${path}: ${reply.status} ${reply.text}`);
    }
    assert.deepEqual(router.agents[0]?.seen, []);
    assert.equal(router.agents[0]?.connections(), 0);
  });
}

const own: Record<string, Record<string, string>> = {
  localhost: { host: 'localhost:8080' },
  'LOCALHOST in capitals': { host: 'LOCALHOST:8080' },
  'the IPv4 loopback': { host: '127.0.0.1:8080' },
  'the IPv6 loopback': { host: '[::1]:8080' },
  'a configured host': { host: 'router.example.org' },
  'a configured host at any port': { host: 'router.example.org:8443' },
  'a host below a wildcard': { host: 'demo.agents.example.org' },
  'its own origin': { host: 'localhost:8080', origin: 'http://127.0.0.1:8080' },
  'a configured origin': { host: 'localhost:8080', origin: 'https://app.example.org' },
};
for (const [what, headers] of Object.entries(own)) {
  test(`${what} is let in`, limits, async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }], options);
    const reply = await post(router, { command: 'ping', agent: 'demo' }, { headers });
    assert.equal(reply.status, 200, reply.text);
  });
}

test('control: without the check the same foreign request is answered', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], {
    ...options,
    allowedHosts: ['*.example.com', 'evil.example.com'],
  });
  const headers = { host: 'evil.example.com', origin: 'https://evil.example.com' };
  assert.equal((await post(router, { command: 'ping', agent: 'demo' }, { headers })).status, 200);
});

test('a host that a Route claims is let in while the Route is there', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], options);
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  const headers = { host: 'team.example.net' };
  assert.equal((await post(router, { command: 'list_tools' }, { headers })).status, 403);
  router.tables.set(
    [agentOf(demo)],
    [routeNamed('r', { agents: [{ name: 'demo' }], hosts: ['team.example.net'], mcp: {} })],
  );
  assert.equal((await post(router, { command: 'list_tools' }, { headers })).status, 200);
});
