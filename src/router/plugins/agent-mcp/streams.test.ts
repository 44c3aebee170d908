import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RouterLimits } from '../../limits.ts';
import { startTestRouter } from '../../testing/harness.ts';
import { openStream } from '../../testing/open-stream.ts';

const bounded = { timeout: 60_000 };
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

async function start(t: TestContext, limits: Partial<RouterLimits>) {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits });
  const url = `${await router.listen()}/mcps/demo/mcp`;
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const hello = await openStream(t, url, { body: { jsonrpc: '2.0', id: 0, method: 'initialize', params } });
  const headers = { 'mcp-session-id': hello.answer.headers.get('mcp-session-id') ?? '' };
  return {
    listen: () => openStream(t, url, { method: 'GET', headers }),
    call: () => openStream(t, url, { headers, body: ping }),
  };
}

test('streams take no connection of an agent from its calls', bounded, async (t) => {
  const { listen, call } = await start(t, { connectionsPerAgent: 2 });
  for (let stream = 0; stream < 5; stream += 1) assert.equal((await listen()).answer.status, 200);
  assert.deepEqual(await (await call()).next(), undefined);
});

test('there are not more streams than the router holds', bounded, async (t) => {
  const { listen, call } = await start(t, { eventStreams: 2 });
  const first = await listen();
  assert.deepEqual([first.answer.status, (await listen()).answer.status], [200, 200]);
  const refused = await listen();
  assert.deepEqual([refused.answer.status, (await call()).answer.status], [400, 200]);
});

test('a stream of an agent that shows no sign of life breaks off', bounded, async (t) => {
  const { listen } = await start(t, { agentStreamSilenceMs: 200 });
  const stream = await listen();
  assert.equal((await stream.next()).method, 'notifications/message');
  await assert.rejects(stream.next());
});
