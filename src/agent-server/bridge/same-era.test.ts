import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  accept,
  askedIn,
  sessionClient,
  startAgent,
  statelessClient,
  textOf,
  transports,
} from './testing.ts';

// Clients of a server of their own era. Names in brackets are rows of docs/bridging.md.

const limits = { timeout: 15_000 };
const canAll = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

for (const transport of transports) {
  test(`over ${transport}, 2026-07-28 passes as it is (A1, A2, A8, R3, R4, R8, R14)`, limits, async (t) => {
    const agent = await startAgent(t, '2026', transport);
    const client = statelessClient(agent, { ...canAll, experimental: {} }, 'debug');
    const asked = askedIn(await client.call('twice').next());
    assert.deepEqual([asked.keys, asked.state], [['a'], 'first']);
    const more = { inputResponses: { a: accept('name', 'Ana') }, requestState: asked.state };
    assert.equal(askedIn(await client.call('twice', {}, more).next()).state, 'second Ana');
    const { capabilities, logLevel } = JSON.parse(textOf(await client.call('whoami').next()));
    assert.deepEqual([capabilities, logLevel], [{ ...canAll, experimental: {} }, 'debug']);
    assert.deepEqual((await client.call('list').next()).result?.['structuredContent'], [1, 2]);
    const tasks = client.call('wants-tasks');
    assert.equal(await tasks.status(), 400);
    assert.equal((await tasks.next()).error?.code, -32_021);
  });

  test(
    `over ${transport}, subscriptions of 2026-07-28 reach the server and back (N1, N2)`,
    limits,
    async (t) => {
      const agent = await startAgent(t, '2026', transport);
      const client = statelessClient(agent);
      const notifications = { toolsListChanged: true, resourceSubscriptions: ['test://a', 'test://refused'] };
      const listen = client.request('subscriptions/listen', { notifications });
      const { params } = await listen.next();
      assert.deepEqual(params?.['notifications'], {
        toolsListChanged: true,
        resourceSubscriptions: ['test://a'],
      });
      await client.call('touch', { uri: 'test://a' }).all();
      assert.equal((await listen.next()).params?.['uri'], 'test://a');
      await client.call('grow').all();
      assert.equal((await listen.next()).method, 'notifications/tools/list_changed');
      listen.abort();
    },
  );

  test(`over ${transport}, 2025 passes as it is (A2, A7, A8, A9, A13)`, limits, async (t) => {
    const agent = await startAgent(t, '2025', transport);
    const client = await sessionClient(agent, canAll);
    const visit = client.call('visit');
    const question = await visit.next();
    assert.equal(question.params?.['elicitationId'], 'visit-1');
    await client.answer(question.id, { action: 'decline' });
    assert.equal(textOf(await visit.next()), 'visited: decline');
    assert.equal((await client.call('needs-url').next()).error?.code, -32_042);
    const withdraw = client.call('withdraw');
    const { id } = await withdraw.next();
    const { method, params } = await withdraw.next();
    assert.deepEqual([method, params?.['requestId']], ['notifications/cancelled', id]);
    assert.equal(textOf(await withdraw.next()), 'withdrawn');
  });
}
