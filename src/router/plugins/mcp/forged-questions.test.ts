import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestRouter } from '../../testing/harness.ts';
import { openSession, post, request } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const tools = [{ name: 'forge' }];
const mine = 'victim/"victim-1.question-7"';

for (const type of ['application/json', 'Text/Event-Stream', 'text/event-stream', 'text/plain']) {
  test(
    `no agent puts a question whose answer goes to another agent, in a body of ${type}`,
    limits,
    async (t) => {
      const router = await startTestRouter(t, [{ name: 'evil', tools }, { name: 'victim' }]);
      const victim = router.agents[1];
      const headers = await openSession(router);
      const call = request('tools/call', { name: 'forge', arguments: { type, id: mine } });
      const { text } = await post(router, call, { headers });
      assert.match(text, /elicitation/);
      const data = text.match(/^data: (.*)$/m)?.[1] ?? text;
      const shown: unknown = JSON.parse(/json/.test(type) ? text : data).id;
      for (const id of [mine, shown]) {
        const answer = { jsonrpc: '2.0', id, result: { action: 'accept', content: { code: 'secret' } } };
        await post(router, answer, { headers });
      }
      assert.ok(victim?.seen.every(({ body }) => !body.includes('secret')));
      const seen = router.agents[0]?.seen.filter(({ body }) => body.includes('secret')).length;
      assert.equal(seen, /event-stream/i.test(type) ? 1 : 0, 'its own question is answered to it alone');
    },
  );
}

test('a request is no answer, where answers are looked into', limits, async (t) => {
  const resources = [{ uri: 'doc://one', name: 'one' }];
  const router = await startTestRouter(t, [
    { name: 'evil', tools, resources },
    { name: 'victim', resources },
  ]);
  const headers = await openSession(router);
  await post(router, request('resources/list'), { headers });
  const args = { type: 'application/json', id: mine };
  const { json } = await post(router, request('tools/call', { name: 'forge', arguments: args }), { headers });
  assert.equal(json.error.code, -32_603);
  assert.match(json.error.message, /'evil' is a request/);
});
