import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { metaKeys, tasksExtension } from '#mcp/eras.ts';
import { until } from '#test/fixtures/fake-clock.ts';
import { type Reply, request } from '../../testing/mcp-client.ts';
import { openStream } from '../../testing/open-stream.ts';
import { clientOfRoute } from '../../testing/route-client.ts';

const limits = { timeout: 30_000 };
const job = { name: 'job', inputSchema: { type: 'object' } };
const hasTasks = { extensions: { [tasksExtension]: {} } };
const one = { uri: 'doc://one', name: 'one' };
const agents = [
  { name: 'a', tools: [job], capabilities: hasTasks, resources: [one] },
  { name: 'b', tools: [job], capabilities: hasTasks, resources: [one] },
];
const meta = { [metaKeys.protocolVersion]: '2026-07-28', [metaKeys.clientCapabilities]: hasTasks };

async function twoAgents(
  t: TestContext,
  fakes: Parameters<typeof clientOfRoute>[1] = agents,
  options?: Parameters<typeof clientOfRoute>[3],
) {
  const client = await clientOfRoute(t, fakes, {}, options);
  const ask = (method: string, params: object = {}): Promise<Reply> =>
    client.ask(method, { _meta: meta, ...params });
  const begun = await ask('tools/call', { name: 'b_job', arguments: {} });
  return { ...client, ask, begun, taskId: String(begun.json.result.taskId) };
}

test('a task behind several agents has an id that begins with its agent (K9)', limits, async (t) => {
  const { ask, begun, taskId, router } = await twoAgents(t);
  assert.equal(begun.json.result.resultType, 'task');
  assert.equal(taskId, 'b/b-1..code.1');
  const { result } = (await ask('tasks/get', { taskId })).json;
  assert.deepEqual([result.taskId, result.status], [taskId, 'completed']);
  for (const method of ['tasks/update', 'tasks/cancel'])
    assert.equal((await ask(method, { taskId })).json.result.resultType, 'complete', method);
  const seen = router.agents[1]?.seen.at(-1);
  assert.equal(seen?.headers['mcp-name'], 'b-1..code.1');
  assert.equal(JSON.parse(seen?.body ?? '').params.taskId, 'b-1..code.1');
});

test('URIs in the result of a task are rewritten as in any other (K9)', limits, async (t) => {
  const { ask, taskId } = await twoAgents(t);
  await ask('resources/list');
  const { result } = (await ask('tasks/get', { taskId })).json.result;
  assert.equal(result.content[0].uri, 'ploinky://b/doc://one');
  assert.equal(result.content[1].resource.uri, 'ploinky://b/doc://one');
  assert.equal(result._meta.ui.resourceUri, 'ploinky://b/doc://one');
  assert.equal(result.content[2].text, 'doc://one');
});

test('server/discover has the tasks of the agents', limits, async (t) => {
  const { ask } = await twoAgents(t);
  const { capabilities } = (await ask('server/discover')).json.result;
  assert.deepEqual(capabilities.extensions, hasTasks.extensions);
});

test('checks of a request about a task have their order (K4, K9)', limits, async (t) => {
  const { ask, taskId, router, path } = await twoAgents(t);
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
    for (const id of [taskId, 'nothing']) {
      const undeclared = await ask(method, {
        taskId: id,
        _meta: { ...meta, [metaKeys.clientCapabilities]: {} },
      });
      assert.deepEqual([undeclared.status, undeclared.json.error.code], [400, -32_021], `${method} ${id}`);
      const headers = {
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': 'another',
      };
      const params = { taskId: id, _meta: { ...meta, [metaKeys.clientCapabilities]: {} } };
      const mismatch = await router.inject({
        method: 'POST',
        url: path,
        headers,
        payload: JSON.stringify(request(method, params)),
      });
      assert.deepEqual([mismatch.statusCode, mismatch.json().error.code], [400, -32_020]);
    }
    for (const id of ['nothing', 'b', 'c/x', 'a/b-1..code.1', '/b-1..code.1', 'b/', 7])
      assert.equal((await ask(method, { taskId: id })).json.error.code, -32_602, `${method} ${id}`);
  }
});

test('where no agent has tasks, there are none', limits, async (t) => {
  const { ask } = await clientOfRoute(t, [{ name: 'a' }]);
  const { status, json } = await ask('tasks/get', { taskId: 'a/x', _meta: meta });
  assert.deepEqual([status, json.error.code], [404, -32_601]);
});

test(
  'a call that becomes no task passes byte for byte, also for a client that takes tasks',
  limits,
  async (t) => {
    const client = await clientOfRoute(t, [{ name: 'a', capabilities: hasTasks }]);
    const params = { name: 'echo', arguments: { text: '"taskId"' } };
    const plain = await client.ask('tools/call', params);
    const taking = await client.ask('tools/call', { ...params, _meta: meta });
    assert.equal(taking.text, plain.text);
  },
);

test('a request about a task goes to the instance where it runs (K1)', limits, async (t) => {
  const { ask, router, taskId } = await twoAgents(t);
  const [a, b] = router.agents;
  assert.ok(a !== undefined && b !== undefined);
  await ask('tasks/get', { taskId });
  assert.equal(b.seen.at(-1)?.claims.wl, 'b-1');
});

test('what ends a task, or answers it, waits for no call (K1)', limits, async (t) => {
  const busy = agents.map((agent) => ({ ...agent, hang: ['resources/read'] }));
  const { ask, router, taskId } = await twoAgents(t, busy, { limits: { connectionsPerAgent: 1 } });
  await ask('tasks/get', { taskId });
  void ask('resources/read', { uri: 'ploinky://b/doc://one' });
  const isHeld = () => router.agents[1]?.seen.at(-1)?.body.includes('"resources/read"') === true;
  await until(isHeld, 'the call that holds the connection');
  for (const method of ['tasks/cancel', 'tasks/update'])
    assert.equal((await ask(method, { taskId })).json.result.resultType, 'complete', method);
});

test(
  'tasks that a client listens to are told under its ids, each by its agent (K8, K9)',
  limits,
  async (t) => {
    const { router, path, taskId } = await twoAgents(t);
    const base = await router.listen();
    const listen = (capabilities: object) =>
      openStream(t, `${base}${path}`, {
        headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
        body: request(
          'subscriptions/listen',
          {
            _meta: { ...meta, [metaKeys.clientCapabilities]: capabilities },
            notifications: { taskIds: [taskId, 'nothing', 'c/x'] },
          },
          'sub',
        ),
      });
    const stream = await listen(hasTasks);
    const acknowledged = await stream.next();
    assert.deepEqual(acknowledged.params.notifications, { taskIds: [taskId] });
    const b = router.agents[1];
    const done = { content: [{ type: 'resource_link', uri: 'doc://one', name: 'one' }] };
    b?.tell('notifications/tasks', { taskId: 'b-1..code.1', status: 'completed', result: done });
    const told = await stream.next();
    assert.equal(told.method, 'notifications/tasks');
    assert.equal(told.params.taskId, taskId);
    assert.equal(told.params.result.content[0].uri, 'ploinky://b/doc://one');
    assert.equal(told.params._meta[metaKeys.subscriptionId], 'sub');
    assert.equal((await listen({})).answer.status, 400);
  },
);

test(
  'a client of 2025-11-25 has tasks behind several agents, but no list of them (R12, K9)',
  limits,
  async (t) => {
    const { send } = await clientOfRoute(t, agents);
    const begun = await send('tools/call', { name: 'a_job', arguments: {}, task: { ttl: 1000 } });
    const { taskId } = begun.json.result.task;
    assert.equal(taskId, 'a/a-1..code.1');
    assert.equal((await send('tasks/get', { taskId })).json.result.taskId, taskId);
    const { result } = (await send('tasks/result', { taskId })).json;
    assert.deepEqual(result._meta, { 'io.modelcontextprotocol/related-task': { taskId } });
    assert.equal((await send('tasks/list')).json.error.code, -32_601);
  },
);
