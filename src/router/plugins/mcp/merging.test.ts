import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentOf, startTestRouter, type TestRouter } from '../../testing/harness.ts';
import { openSession, post, request } from '../../testing/mcp-client.ts';

const limits = { timeout: 30_000 };
const named = (name: string) => ({ name, inputSchema: { type: 'object' } });

async function listed(
  router: TestRouter,
  headers: Record<string, string>,
): Promise<{ names: string[]; meta: Record<string, unknown> }> {
  const { json } = await post(router, request('tools/list'), { headers });
  return {
    names: json.result.tools.map((tool: { name: string }) => tool.name),
    meta: json.result._meta ?? {},
  };
}

test('names are prefixed only where two agents have them, and the clash is reported', limits, async (t) => {
  const router = await startTestRouter(t, [
    { name: 'b', tools: [named('echo'), named('only-b')] },
    { name: 'a', tools: [named('echo')] },
  ]);
  const headers = await openSession(router);
  const { names, meta } = await listed(router, headers);
  assert.deepEqual(names, ['a_echo', 'b_echo', 'only-b']);
  assert.deepEqual(meta['ploinky.dev/conflicts'], { echo: ['a', 'b'] });
  const call = (params: object) => post(router, request('tools/call', params), { headers });
  assert.equal(
    (await call({ name: 'b_echo', arguments: { text: '1' } })).json.result.content[0].text,
    'b: 1',
  );
  assert.equal(
    (await call({ name: 'echo', agent: 'b', arguments: { text: '2' } })).json.result.content[0].text,
    'b: 2',
  );
  const byMeta = await call({ name: 'echo', _meta: { router: { agent: 'a' } }, arguments: { text: '3' } });
  assert.equal(byMeta.json.result.content[0].text, 'a: 3');
  const bare = await call({ name: 'echo' });
  assert.equal(bare.json.error.code, -32602);
  assert.deepEqual(bare.json.error.data.agents, ['a', 'b']);
});

test('an agent that hangs costs its deadline once and is named; the others answer', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'stuck', hang: ['tools/list'] }], {
    limits: { listTimeoutMs: 200 },
  });
  const headers = await openSession(router);
  const started = performance.now();
  const first = await listed(router, headers);
  const waited = performance.now() - started;
  assert.ok(waited >= 190 && waited < 5_000, `${waited} ms`);
  assert.deepEqual(first.names, ['echo', 'whoami', 'count']);
  const [error] = first.meta['ploinky.dev/errors'] as { agent: string; message: string }[];
  assert.equal(error?.agent, 'stuck');
  assert.match(error?.message ?? '', /did not answer in time/);
  await listed(router, headers);
  const asked = router.agents[1]?.seen.filter(({ body }) => body.includes('tools/list')).length;
  assert.equal(asked, 1, 'the second list came from the memory of the failure');
});

test(
  'a call to a healthy agent does not wait for one that hangs once its name is known',
  limits,
  async (t) => {
    const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'slow', tools: [named('x')] }], {
      limits: { listTimeoutMs: 3_000 },
    });
    const headers = await openSession(router);
    await listed(router, headers);
    const [demo, slow] = router.agents;
    assert.ok(demo !== undefined && slow !== undefined);
    const stuck = { ...slow, address: 'unix:/nonexistent/s', instance: 'gone' };
    router.tables.set([agentOf(demo), agentOf(stuck, { digest: 'd2' })]);
    const started = performance.now();
    const call = await post(router, request('tools/call', { name: 'echo', arguments: { text: 'hi' } }), {
      headers,
    });
    assert.equal(call.json.result.content[0].text, 'demo: hi');
    assert.ok(performance.now() - started < 1_500);
  },
);

test('an agent that is not ready is named with its reason', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }, { name: 'late' }]);
  const [demo, late] = router.agents;
  assert.ok(demo !== undefined && late !== undefined);
  router.tables.set([agentOf(demo), agentOf(late, { ready: false })]);
  const { names, meta } = await listed(router, await openSession(router));
  assert.deepEqual(names, ['echo', 'whoami', 'count']);
  assert.match(JSON.stringify(meta), /late.*not ready \(NotReady\)/);
});

test('a list that grew old makes no other list old', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }], { limits: { listMaxAgeMs: 1_000 } });
  const headers = await openSession(router);
  await post(router, request('resources/list'), { headers });
  await new Promise((resolve) => setTimeout(resolve, 700));
  await listed(router, headers);
  const { services, tables } = router;
  const surface = tables.current().surfaces.find((candidate) => candidate.kind === 'mcp');
  assert.ok(surface?.kind === 'mcp');
  await new Promise((resolve) => setTimeout(resolve, 350));
  assert.equal(services.views.current(surface, 'resources'), undefined);
  assert.ok(services.views.current(surface, 'tools') !== undefined);
});

test('names stay while an agent is away for a moment, and a call to it waits for it', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'a' }, { name: 'b' }], { limits: { readyWaitMs: 2_000 } });
  const [a, b] = router.agents;
  assert.ok(a !== undefined && b !== undefined);
  const headers = await openSession(router);
  await listed(router, headers);
  router.tables.set([agentOf(a), agentOf(b, { ready: false })]);
  const { names } = await listed(router, headers);
  assert.deepEqual(names, ['a_echo', 'a_whoami', 'a_count']);
  const call = (name: string) =>
    post(router, request('tools/call', { name, arguments: { text: 'x' } }), { headers });
  assert.equal((await call('a_echo')).json.result.content[0].text, 'a: x');
  setTimeout(() => router.tables.set([agentOf(a), agentOf(b)]), 50);
  assert.equal((await call('b_echo')).json.result.content[0].text, 'b: x');
  router.tables.set([agentOf(a)]);
  assert.equal(
    (await call('echo')).json.result.content[0].text,
    'a: x',
    'an agent that was deleted frees its names',
  );
});

test('a changed digest is listed anew, an unchanged one is not', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const [demo] = router.agents;
  assert.ok(demo !== undefined);
  const headers = await openSession(router);
  await listed(router, headers);
  const before = demo.seen.length;
  router.tables.set([agentOf(demo)]);
  await listed(router, headers);
  assert.equal(demo.seen.length, before);
  router.tables.set([agentOf(demo, { digest: 'd2' })]);
  await listed(router, headers);
  assert.ok(demo.seen.length > before);
});

test('resources are found by URI or template, prompts by name, completion by either', limits, async (t) => {
  const router = await startTestRouter(t, [
    {
      name: 'a',
      resources: [{ uri: 'text://one', name: 'one' }],
      prompts: [{ name: 'hi' }, { name: 'a-only' }],
    },
    { name: 'b', templates: [{ uriTemplate: 'file:///{path}', name: 'files' }], prompts: [{ name: 'hi' }] },
  ]);
  const headers = await openSession(router);
  const ask = async (method: string, params: object) =>
    (await post(router, request(method, params), { headers })).json;
  assert.equal((await ask('resources/list', {})).result.resources[0].uri, 'text://one');
  assert.equal(
    (await ask('resources/templates/list', {})).result.resourceTemplates[0].uriTemplate,
    'file:///{path}',
  );
  assert.equal(
    (await ask('resources/read', { uri: 'text://one' })).result.contents[0].text,
    'a reads text://one',
  );
  assert.equal(
    (await ask('resources/read', { uri: 'file:///x' })).result.contents[0].text,
    'b reads file:///x',
  );
  assert.match(
    (await ask('resources/read', { uri: 'none://x' })).error.message,
    /'none:\/\/x' was not found/,
  );
  const prompts = (await ask('prompts/list', {})).result.prompts.map(
    (prompt: { name: string }) => prompt.name,
  );
  assert.deepEqual(prompts, ['a_hi', 'a-only', 'b_hi']);
  assert.equal((await ask('prompts/get', { name: 'b_hi' })).result.messages[0].content.text, 'b hi');
  const byPrompt = { ref: { type: 'ref/prompt', name: 'a_hi' }, argument: { name: 'x', value: '' } };
  assert.deepEqual((await ask('completion/complete', byPrompt)).result.completion.values, ['a']);
  const byTemplate = {
    ref: { type: 'ref/resource', uri: 'file:///{path}' },
    argument: { name: 'path', value: '' },
  };
  assert.deepEqual((await ask('completion/complete', byTemplate)).result.completion.values, ['b']);
});

test('ping, setLevel and unknown methods', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const headers = await openSession(router);
  const ask = async (method: string, params: object) =>
    (await post(router, request(method, params), { headers })).json;
  assert.deepEqual((await ask('ping', {})).result, {});
  assert.deepEqual((await ask('logging/setLevel', { level: 'debug' })).result, {});
  assert.equal(router.agents[0]?.seen.filter((seen) => seen.body.includes('setLevel')).length, 1);
  assert.equal((await ask('logging/setLevel', { level: 'loud' })).error.code, -32602);
  assert.equal((await ask('resources/subscribe', { uri: 'x' })).error.code, -32601);
  assert.equal((await ask('no/such', {})).error.code, -32601);
  assert.equal((await ask('tools/list', { cursor: 'x' })).error.code, -32602);
});

test('a batch of an old revision is answered with an array', limits, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const headers = await openSession(router);
  const { 'mcp-protocol-version': _, ...old } = headers;
  const batch = [
    request('ping', {}, 'a'),
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    request('tools/call', { name: 'echo', arguments: { text: 'x' } }, 'b'),
  ];
  const reply = await post(router, batch, { headers: old });
  assert.equal(reply.status, 200);
  assert.deepEqual(
    reply.json.map((answer: { id: string }) => answer.id),
    ['a', 'b'],
  );
  assert.equal(reply.json[1].result.content[0].text, 'demo: x');
  const single = await post(router, [request('ping')], {
    headers: await openSession(router, '/mcps/demo/mcp'),
    path: '/mcps/demo/mcp',
  });
  assert.equal(single.status, 200);
  const two = await post(router, [request('ping'), request('ping')], { headers, path: '/mcps/demo/mcp' });
  assert.equal(two.status, 400);
});
