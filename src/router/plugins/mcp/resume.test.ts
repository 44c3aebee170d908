import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentOf, startTestRouter } from '../../testing/harness.ts';
import { openSession } from '../../testing/mcp-client.ts';
import { openStream } from '../../testing/open-stream.ts';

const limits = { timeout: 30_000 };

test('an event’s id leads to its agent, which gets its own id', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }]);
  const base = await router.listen();
  const headers = { ...(await openSession(router)), 'last-event-id': 'other/t/one.x' };
  const stream = await openStream(t, `${base}/mcp`, { method: 'GET', headers });
  assert.equal(stream.answer.status, 200);
  assert.equal((await stream.next()).method, 'notifications/message');
  const [demo, other] = router.agents;
  const seen = other?.seen.filter(({ method }) => method === 'GET') ?? [];
  assert.deepEqual(
    seen.map((request) => request.headers['last-event-id']),
    ['one.x'],
  );
  assert.deepEqual(
    demo?.seen.filter(({ method }) => method === 'GET'),
    [],
  );
});

test('a rest of which nothing comes any more breaks off', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { agentStreamSilenceMs: 200 } });
  const base = await router.listen();
  const headers = { ...(await openSession(router)), 'last-event-id': 'demo/t/one.x' };
  const stream = await openStream(t, `${base}/mcp`, { method: 'GET', headers });
  assert.equal((await stream.next()).method, 'notifications/message');
  await assert.rejects(stream.next());
});

test('an id that names no agent here is refused, and nobody is asked', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'other' }]);
  const base = await router.listen();
  const session = await openSession(router);
  const [demo, other] = router.agents;
  assert.ok(demo !== undefined && other !== undefined);
  router.tables.set([agentOf(demo)]);
  for (const id of ['x', 'one.x', 'zzz/t/one.x', 'other/t/one.x', 'demo/q/one.x', '/t/one.x']) {
    const headers = { ...session, 'last-event-id': id };
    const stream = await openStream(t, `${base}/mcp`, { method: 'GET', headers });
    assert.equal(stream.answer.status, 400, id);
    stream.close();
  }
  for (const { seen } of router.agents) assert.ok(seen.every(({ method }) => method !== 'GET'));
});
