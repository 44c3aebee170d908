import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { metaKeys } from '#mcp/eras.ts';
import { agentOf, startTestRouter, type TestRouter } from '../../testing/harness.ts';
import { openSession, request } from '../../testing/mcp-client.ts';
import { openStream as open } from '../../testing/open-stream.ts';

const limits = { timeout: 30_000 };
const streaming = [
  { name: 'ask' },
  { name: 'progress' },
  { name: 'forever' },
  { name: 'break' },
  { name: 'echo' },
];

async function start(
  t: TestContext,
): Promise<{ router: TestRouter; base: string; headers: Record<string, string> }> {
  const router = await startTestRouter(t, [{ name: 'demo', tools: streaming }]);
  const base = await router.listen();
  return { router, base, headers: await openSession(router) };
}

test('progress comes through as it happens, then the result', limits, async (t) => {
  const { base, headers } = await start(t);
  const stream = await open(t, `${base}/mcp`, {
    headers,
    body: request('tools/call', { name: 'progress' }, 'x'),
  });
  assert.equal((await stream.next()).params.progress, 1);
  assert.equal((await stream.next()).params.progress, 2);
  assert.equal((await stream.next()).id, 'x');
  assert.equal(await stream.next(), undefined);
});

test('an agent’s question carries an id that leads the answer back to it', limits, async (t) => {
  const { base, headers, router } = await start(t);
  const stream = await open(t, `${base}/mcp`, { headers, body: request('tools/call', { name: 'ask' }, 1) });
  const question = await stream.next();
  assert.equal(question.method, 'elicitation/create');
  assert.match(question.id, /^demo\/[\w-]{22}\/"demo-1\.question-7"$/);
  const answer = { jsonrpc: '2.0', id: question.id, result: { action: 'accept' } };
  const taken = await fetch(`${base}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(answer),
  });
  assert.equal(taken.status, 202);
  assert.equal((await stream.next()).result.content[0].text, 'demo done');
  assert.deepEqual(router.agents[0]?.refused, []);
});

test('a client that goes away ends the call at the agent', limits, async (t) => {
  const { base, headers, router } = await start(t);
  const stream = await open(t, `${base}/mcp`, { headers, body: request('tools/call', { name: 'forever' }) });
  stream.close();
  for (let tries = 0; tries < 200 && router.agents[0]?.aborted.length === 0; tries += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.deepEqual(router.agents[0]?.aborted, ['POST /mcp']);
});

test(
  'an agent that breaks off in the middle breaks the client’s stream: no one takes a part for the whole',
  limits,
  async (t) => {
    const { base, headers } = await start(t);
    const stream = await open(t, `${base}/mcp`, { headers, body: request('tools/call', { name: 'break' }) });
    assert.equal((await stream.next()).method, 'notifications/progress');
    await assert.rejects(stream.next());
  },
);

test('notifications/cancelled reaches the agent that runs the request', limits, async (t) => {
  const { base, headers, router } = await start(t);
  const stream = await open(t, `${base}/mcp`, {
    headers,
    body: request('tools/call', { name: 'forever' }, 'long'),
  });
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'long' } };
  await fetch(`${base}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(cancel),
  });
  assert.equal(
    router.agents[0]?.seen.filter((seen) => seen.body.includes('notifications/cancelled')).length,
    1,
  );
  stream.close();
});

test(
  'a request whose client leaves while its agent is looked for is not sent, and not taken to run there',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'stuck', hang: ['tools/list'] }], {
      limits: { listTimeoutMs: 300 },
    });
    const url = `${await router.listen()}/mcp`;
    const headers = { 'content-type': 'application/json', ...(await openSession(router)) };
    const leave = new AbortController();
    const body = JSON.stringify(request('tools/call', { name: 'echo' }, 'gone'));
    const call = fetch(url, { method: 'POST', headers, body, signal: leave.signal });
    const asked = (what: string) =>
      router.agents.map(({ seen }) => seen.filter((one) => one.body.includes(what)).length);
    while (asked('tools/list')[1] === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    leave.abort();
    await assert.rejects(call);
    await new Promise((resolve) => setTimeout(resolve, 600));
    assert.deepEqual(asked('tools/call'), [0, 0]);
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'gone' } };
    await fetch(url, { method: 'POST', headers, body: JSON.stringify(cancel) });
    assert.deepEqual(asked('notifications/cancelled'), [1, 1]);
  },
);

test('GET of a session tells when lists change', limits, async (t) => {
  const { base, headers, router } = await start(t);
  const stream = await open(t, `${base}/mcp`, { method: 'GET', headers });
  assert.equal(stream.answer.headers.get('content-type'), 'text/event-stream');
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  router.tables.set([agentOf(demo, { digest: 'd2' })]);
  assert.equal((await stream.next()).method, 'notifications/tools/list_changed');
  assert.equal((await stream.next()).method, 'notifications/resources/list_changed');
});

test('GET of one agent is that agent’s own stream', limits, async (t) => {
  const { base, router } = await start(t);
  const headers = await openSession(router, '/mcps/demo/mcp');
  const stream = await open(t, `${base}/mcps/demo/mcp`, { method: 'GET', headers });
  const message = await stream.next();
  assert.equal(message.method, 'notifications/message');
  assert.equal(message.params.data, router.agents[0]?.seen.at(-1)?.claims.mcp?.session);
});

test(
  'subscriptions/listen acknowledges, tells what was asked for, and ends with a result',
  limits,
  async (t) => {
    const { base, router } = await start(t);
    const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: {} };
    const params = {
      _meta: meta,
      notifications: { toolsListChanged: true, resourceSubscriptions: ['x://y'] },
    };
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
    const stream = await open(t, `${base}/mcp`, {
      headers,
      body: request('subscriptions/listen', params, 'sub'),
    });
    const first = await stream.next();
    assert.equal(first.method, 'notifications/subscriptions/acknowledged');
    assert.deepEqual(first.params.notifications, { toolsListChanged: true });
    assert.equal(first.params._meta[metaKeys.subscriptionId], 'sub');
    const [demo] = router.agents;
    assert.ok(demo !== undefined);
    router.tables.set([agentOf(demo, { digest: 'd2' })]);
    const second = await stream.next();
    assert.equal(second.method, 'notifications/tools/list_changed');
    assert.equal(second.params._meta[metaKeys.subscriptionId], 'sub');
    router.services.drain();
    const last = await stream.next();
    assert.equal(last.id, 'sub');
    assert.equal(last.result.resultType, 'complete');
    assert.equal(await stream.next(), undefined);
  },
);

test('more streams than the limit are refused', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { eventStreams: 1 } });
  const base = await router.listen();
  const headers = await openSession(router);
  await open(t, `${base}/mcp`, { method: 'GET', headers });
  const second = await open(t, `${base}/mcp`, { method: 'GET', headers });
  assert.ok(second.answer.status >= 400);
});
