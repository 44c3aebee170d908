import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentOf, startTestRouter } from '../../testing/harness.ts';

const limits = { timeout: 30_000 };
const id = 'a'.repeat(48);

test('whoever has not logged in gets and gives no files where the agent asks for it', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  const open = agentOf(demo);
  const guarded = { ...open, spec: { ...open.spec, auth: { mode: 'pwd' as const } } };
  router.tables.set([guarded]);
  const base = await router.listen();
  const ways = [
    ['GET', `/blobs/demo/${id}`],
    ['GET', '/blobs/demo'],
    ['POST', '/blobs/demo'],
    ['DELETE', `/blobs/demo/${id}`],
  ] as const;
  for (const [method, path] of ways) {
    const answer = await fetch(base + path, { method, redirect: 'manual' });
    assert.equal(answer.status, 401, `${method} ${path}`);
    assert.equal(((await answer.json()) as { error: string }).error, 'not_authenticated');
  }
  assert.deepEqual(demo.seen, []);
  router.tables.set([open]);
  await fetch(`${base}/blobs/demo/${id}`);
  assert.equal(demo.seen.length + demo.refused.length, 1, 'control: without it the agent is asked');
});

test('ids and methods that cannot be are refused without the agent', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const base = await router.listen();
  const status = async (method: string, path: string) => (await fetch(base + path, { method })).status;
  assert.equal(await status('GET', '/blobs/demo/short'), 400);
  assert.equal(await status('GET', `/blobs/demo/${id}/more`), 400);
  assert.equal(await status('PUT', `/blobs/demo/${id}`), 405);
  assert.equal(await status('DELETE', '/blobs/demo'), 405);
  assert.deepEqual(router.agents[0]?.seen, []);
});
