import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestRouter } from '../../testing/harness.ts';
import { openSession, post, request, stateless } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const named = (name: string) => ({ name, inputSchema: { type: 'object' } });

test('a session client lists and calls the tools of all agents', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other', tools: [named('add')] }]);
  const headers = await openSession(router);
  const list = await post(router, request('tools/list'), { headers });
  assert.equal(list.status, 200);
  assert.deepEqual(
    list.json.result.tools.map((tool: { name: string }) => tool.name),
    ['echo', 'whoami', 'count', 'add'],
  );
  assert.deepEqual(list.json.result.tools[3].annotations, { router: { agent: 'other' } });
  const call = await post(router, request('tools/call', { name: 'add', arguments: { text: 'hi' } }, 'x'), {
    headers,
  });
  assert.deepEqual(call.json, {
    jsonrpc: '2.0',
    id: 'x',
    result: { content: [{ type: 'text', text: 'other: hi' }] },
  });
});

test('a stateless client lists and calls without a session', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const list = await stateless(router, 'tools/list');
  assert.equal(list.status, 200);
  assert.equal(list.json.result.resultType, 'complete');
  assert.equal(list.json.result.cacheScope, 'public');
  assert.equal(typeof list.json.result.ttlMs, 'number');
  const call = await stateless(router, 'tools/call', { name: 'echo', arguments: { text: 'hi' } });
  assert.equal(call.json.result.content[0].text, 'demo: hi');
  assert.equal(call.json.result.resultType, 'complete');
});

test('no call opens a connection of its own or lists tools again', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const headers = await openSession(router);
  const call = () => post(router, request('tools/call', { name: 'echo', arguments: {} }), { headers });
  await call();
  for (let index = 0; index < 50; index += 1) await call();
  const [agent] = router.agents;
  assert.ok(
    (agent?.connections() ?? 9) <= 2,
    'a second one when a page is asked for while the first is being read',
  );
  const lists = agent?.seen.filter((seen) => seen.body.includes('"tools/list"')).length;
  assert.equal(lists, 2, 'two pages, once');
});
