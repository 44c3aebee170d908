import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../testing/harness.ts';
import { accept, type Message, sessionClient, statelessClient, textOf, transports } from '../testing.ts';
import { canAll, startTasksAgent, takesTasks, taskIn, untilStatus } from './testing.ts';

const limits = { timeout: 60_000 };

for (const transport of transports) {
  test(
    `over ${transport}, a call is a task of 2025 from its beginning to its result (R12, K1)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2025', transport);
      const client = await sessionClient(agent);
      const begun = await client.call('wait', { ms: 100 }, { task: { ttl: 60_000 } }).next();
      const taskId = taskIn(begun);
      assert.match(taskId, /^instance-1\./);
      assert.equal((begun.result?.['task'] as Message['params'])?.['ttl'], 60_000);
      const done = await untilStatus(client, taskId, 'completed');
      assert.equal(done['taskId'], taskId);
      const result = await client.request('tasks/result', { taskId }).next();
      assert.match(textOf(result), /^waited in/);
      assert.deepEqual(result.result?.['_meta'], { 'io.modelcontextprotocol/related-task': { taskId } });
      const late = await client.request('tasks/cancel', { taskId }).next();
      assert.equal(late.error?.code, -32_602);
    },
  );

  test(`over ${transport}, only its owner sees a task of 2025 (K2, K5)`, limits, async (t) => {
    const agent = await startTasksAgent(t, '2025', transport);
    const [ana, ben] = [await sessionClient(agent), await sessionClient(agent)];
    const taskId = taskIn(await ana.call('wait', { ms: 60_000 }, { task: {} }).next());
    await ben.call('wait', { ms: 1 }, { task: {} }).next();
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      assert.equal((await ben.request(method, { taskId }).next()).error?.code, -32_602, method);
    assert.deepEqual(idsIn(await ana.request('tasks/list').next()), [taskId]);
    assert.equal(idsIn(await ben.request('tasks/list').next()).length, 1);
    const cancelled = await ana.request('tasks/cancel', { taskId }).next();
    assert.deepEqual([cancelled.result?.['taskId'], cancelled.result?.['status']], [taskId, 'cancelled']);
  });

  test(
    `over ${transport}, a task of 2025 asks its client on the stream of tasks/result (K3, K5)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2025', transport);
      const client = await sessionClient(agent, canAll);
      const taskId = taskIn(await client.call('meet', {}, { task: {} }).next());
      await untilStatus(client, taskId, 'input_required');
      const result = client.request('tasks/result', { taskId });
      const asked = await result.next();
      assert.equal(asked.method, 'elicitation/create');
      assert.deepEqual(asked.params?.['_meta'], { 'io.modelcontextprotocol/related-task': { taskId } });
      // Others are served meanwhile, though over stdio one call runs at a time.
      assert.equal(textOf(await client.call('plain').next()), 'no task');
      await client.answer(asked.id, accept('name', 'Ana'));
      assert.equal(textOf(await result.next()), 'Hello, Ana!');
    },
  );

  test(
    `over ${transport}, what does not know tasks of 2025 is told nothing of them (R12)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2025', transport);
      const of = (protocolVersion: string) =>
        agent.post({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: { protocolVersion, capabilities: {} },
        });
      const announced = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
      assert.deepEqual(capabilitiesIn(await of('2025-11-25'))['tasks'], announced);
      const older = await of('2025-06-18');
      assert.equal(capabilitiesIn(older)['tasks'], undefined);
      const headers = {
        'mcp-session-id': String(older.headers['mcp-session-id']),
        'mcp-protocol-version': '2025-06-18',
      };
      const params = { name: 'wait', arguments: {}, task: {} };
      const ran = await agent.post({ jsonrpc: '2.0', id: 2, method: 'tools/call', params }, headers);
      assert.match(ran.json.result.content[0]?.text ?? '', /^waited in/);
      const listed = await agent.post({ jsonrpc: '2.0', id: 3, method: 'tasks/list' }, headers);
      assert.equal(listed.json.error.code, -32_601);
    },
  );

  test(
    `over ${transport}, a call is a task of 2026 from its beginning to its result (R13, K1)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2026', transport);
      const client = statelessClient(agent, takesTasks);
      const begun = await client.call('wait', { ms: 100 }).next();
      const taskId = taskIn(begun);
      assert.equal(begun.result?.['resultType'], 'task');
      assert.match(taskId, /^instance-1\./);
      const done = await untilStatus(client, taskId, 'completed');
      assert.equal(done['taskId'], taskId);
      assert.deepEqual(done['result'], { content: [{ type: 'text', text: 'waited' }] });
      const cancelled = await client.request('tasks/cancel', { taskId }).next();
      assert.equal(cancelled.result?.['resultType'], 'complete');
    },
  );

  test(`over ${transport}, a client of 2026 answers what a task asks (R13)`, limits, async (t) => {
    const agent = await startTasksAgent(t, '2026', transport);
    const client = statelessClient(agent, { ...takesTasks, elicitation: {} });
    const taskId = taskIn(await client.call('meet').next());
    const asking = await untilStatus(client, taskId, 'input_required');
    assert.deepEqual(Object.keys(asking['inputRequests'] as object), ['name']);
    const inputResponses = { name: accept('name', 'Ana') };
    await client.request('tasks/update', { taskId, inputResponses }).next();
    const done = await untilStatus(client, taskId, 'completed');
    assert.deepEqual(done['result'], { content: [{ type: 'text', text: 'Hello, Ana!' }] });
  });

  test(
    `over ${transport}, checks of a request about a task of 2026 have their order (K2, K4)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2026', transport);
      const taskId = taskIn(await statelessClient(agent, takesTasks).call('wait', { ms: 60_000 }).next());
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
        for (const id of [taskId, 'nothing']) {
          const undeclared = statelessClient(agent).request(method, { taskId: id });
          assert.equal(await undeclared.status(), 400);
          assert.equal((await undeclared.next()).error?.code, -32_021, method);
        }
        const changed = taskId.slice(0, -1) + (taskId.endsWith('0') ? '1' : '0');
        for (const id of ['nothing', changed, '']) {
          const unknown = await statelessClient(agent, takesTasks).request(method, { taskId: id }).next();
          assert.equal(unknown.error?.code, -32_602, `${method} ${id}`);
        }
      }
      const listed = statelessClient(agent, takesTasks).request('tasks/list');
      assert.equal(await listed.status(), 404);
    },
  );

  test(`over ${transport}, a client of 2026 hears how its tasks go on (K8)`, limits, async (t) => {
    const agent = await startTasksAgent(t, '2026', transport);
    const client = statelessClient(agent, takesTasks);
    const taskId = taskIn(await client.call('meet').next());
    await untilStatus(client, taskId, 'input_required');
    const listen = client.request('subscriptions/listen', { notifications: { taskIds: [taskId, 'other'] } });
    const acknowledged = await listen.next();
    assert.deepEqual(acknowledged.params?.['notifications'], { taskIds: [taskId] });
    await client.request('tasks/update', { taskId, inputResponses: { name: accept('name', 'Ana') } }).next();
    const told = await listen.next();
    assert.deepEqual([told.method, told.params?.['taskId']], ['notifications/tasks', taskId]);
    assert.equal(told.params?.['status'], 'completed');
    assert.deepEqual(told.params?.['_meta'], acknowledged.params?.['_meta']);
    listen.abort();
    const undeclared = statelessClient(agent).request('subscriptions/listen', {
      notifications: { taskIds: [taskId] },
    });
    assert.equal(await undeclared.status(), 400);
    assert.equal((await undeclared.next()).error?.code, -32_021);
  });
}

for (const transport of transports) {
  test(
    `over ${transport}, a session hears how its tasks of 2025 go on, by its own ids (K5)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2025', transport);
      const [ana, ben] = [await sessionClient(agent), await sessionClient(agent)];
      const [stream, others] = [ana.listen(), ben.listen()];
      t.after(() => [stream, others].forEach((open) => void open.abort()));
      await Promise.all([stream.status(), others.status()]);
      const taskId = taskIn(await ana.call('wait', { ms: 300 }, { task: {} }).next());
      const told = await stream.next();
      assert.equal(told.method, 'notifications/tasks/status');
      assert.deepEqual([told.params?.['taskId'], told.params?.['status']], [taskId, 'completed']);
      const own = taskIn(await ben.call('wait', { ms: 300 }, { task: {} }).next());
      assert.equal((await others.next()).params?.['taskId'], own);
    },
  );
}

test('a process with a running task of a client is kept, and ends after it (K3)', limits, async (t) => {
  const agent = await startTasksAgent(t, '2025', 'stdio', { upstreamProcessIdleMs: 100 });
  const client = await sessionClient(agent, canAll);
  const process = async () => textOf(await client.call('wait').next()).slice('waited in '.length);
  const taskId = taskIn(await client.call('wait', { ms: 800 }, { task: {} }).next());
  // Long enough for a process that nobody uses to end.
  await sleep(500);
  const pid = textOf(await client.request('tasks/result', { taskId }).next()).slice('waited in '.length);
  await eventually('the process has ended', async () => !isAlive(Number(pid)));
  assert.notEqual(await process(), pid);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

function idsIn({ result }: Message): string[] {
  return ((result?.['tasks'] ?? []) as { taskId: string }[]).map(({ taskId }) => taskId);
}

function capabilitiesIn({ json }: { json: { result: Record<string, unknown> } }): Record<string, unknown> {
  return json.result['capabilities'] as Record<string, unknown>;
}
