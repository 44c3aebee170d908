import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { test } from 'node:test';
import { startTestRouter } from '../../testing/harness.ts';
import { post } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };

test(
  'a request reaches the agent’s API with method, path, query, body and its own headers',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }]);
    const reply = await post(router, '{"a":1}', {
      method: 'PUT',
      path: '/apis/demo/one/two%20x?q=1&r=%2F',
      headers: { 'x-custom': 'yes' },
    });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.json.path, '/api/one/two%20x?q=1&r=%2F');
    assert.equal(reply.json.method, 'PUT');
    assert.equal(reply.json.body, '{"a":1}');
    assert.equal(reply.json.headers['x-custom'], 'yes');
    assert.deepEqual(router.agents[0]?.refused, []);
  },
);

test('bodies of any type and none pass, the bare path is the API’s root', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const form = await post(router, 'a=1', {
    path: '/apis/demo/form',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  });
  assert.equal(form.json.body, 'a=1');
  assert.equal((await post(router, undefined, { method: 'GET', path: '/apis/demo' })).json.path, '/api/');
  assert.equal(
    (await post(router, undefined, { method: 'DELETE', path: '/apis/demo/x' })).json.method,
    'DELETE',
  );
});

test('a large upload is streamed, not held', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { bodyBytes: 1000 } });
  const base = await router.listen();
  const body = Buffer.alloc(5_000_000, 'x');
  const answer = await fetch(`${base}/apis/demo/upload`, { method: 'POST', body });
  const json = (await answer.json()) as { body: string };
  assert.equal(json.body.length, body.length);
});

test('a client that goes away ends the request at the agent', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const base = await router.listen();
  const sent = request(`${base}/apis/demo/slow`).on('error', () => undefined);
  sent.end();
  const [demo] = router.agents;
  while (demo?.seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  sent.destroy();
  while (demo?.aborted.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(demo?.aborted, ['GET /api/slow']);
});

test('dot segments, unknown agents and agents that are away', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { readyWaitMs: 50 } });
  const base = await router.listen();
  const sent = request(base, { path: '/apis/demo/%2e%2e/static/x' }).end();
  const [refused] = (await once(sent, 'response')) as [IncomingMessage];
  refused.resume();
  assert.equal(refused.statusCode, 400);
  assert.equal((await post(router, undefined, { method: 'GET', path: '/apis/zzz/x' })).status, 404);
  await router.agents[0]?.stop();
  const away = await post(router, undefined, { method: 'GET', path: '/apis/demo/x' });
  assert.equal(away.status, 503);
  assert.match(away.json.error, /cannot be reached/);
});

test('task status is asked of the agent with a token of its own', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const reply = await post(router, undefined, { method: 'GET', path: '/mcps/demo/task?taskId=abc&_=1' });
  assert.deepEqual(reply.json, { task: { id: 'abc' } });
  assert.equal(
    (await post(router, undefined, { method: 'GET', path: '/mcp/demo/task?taskId=x' })).status,
    200,
  );
  const missing = await post(router, undefined, { method: 'GET', path: '/mcps/demo/task' });
  assert.equal(missing.status, 400);
  assert.deepEqual(missing.json, { error: 'missing taskId' });
  const posted = await post(router, {}, { path: '/mcps/demo/task?taskId=x' });
  assert.equal(posted.status, 405);
  assert.equal(posted.headers['allow'], 'GET');
  assert.deepEqual(posted.json, { error: 'method_not_allowed' });
});
