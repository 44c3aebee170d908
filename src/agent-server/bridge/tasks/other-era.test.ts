import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, type TestServer } from '../../testing/harness.ts';
import { accept, sessionClient, statelessClient, textOf, transports } from '../testing.ts';
import { canAll, startTasksAgent, takesTasks, taskIn, untilStatus } from './testing.ts';

const limits = { timeout: 60_000 };

for (const transport of transports) {
  test(`over ${transport}, a task of 2025 is one of 2026 (K7)`, limits, async (t) => {
    const agent = await startTasksAgent(t, '2025', transport);
    const client = statelessClient(agent, takesTasks);
    const { result: about = {} } = await client.request('server/discover').next();
    const { extensions } = about['capabilities'] as { extensions: object };
    assert.deepEqual(extensions, { 'io.modelcontextprotocol/tasks': {} });
    const begun = await client.call('wait', { ms: 100 }).next();
    const { resultType, status, ttlMs, pollIntervalMs } = begun.result ?? {};
    assert.deepEqual([resultType, status, ttlMs, pollIntervalMs], ['task', 'working', 600_000, 50]);
    const taskId = taskIn(begun);
    const done = await untilStatus(client, taskId, 'completed');
    assert.equal(done['taskId'], taskId);
    assert.equal(done['resultType'], 'complete');
    const { content, ...others } = done['result'] as { content: { text: string }[] };
    assert.match(content[0]?.text ?? '', /^waited in/);
    assert.deepEqual(others, {});
    const acknowledged = await client.request('tasks/cancel', { taskId }).next();
    assert.equal(acknowledged.result?.['resultType'], 'complete');
  });

  test(`over ${transport}, a tool of 2025 that failed has completed in 2026 (K7)`, limits, async (t) => {
    const agent = await startTasksAgent(t, '2025', transport);
    const client = statelessClient(agent, takesTasks);
    const done = await untilStatus(client, taskIn(await client.call('fail').next()), 'completed');
    assert.deepEqual(done['result'], {
      content: [{ type: 'text', text: 'It went wrong.' }],
      isError: true,
    });
  });

  test(
    `over ${transport}, what a task of 2025 asks is in tasks/get, and tasks/update answers it (K7)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2025', transport);
      const client = statelessClient(agent, { ...takesTasks, elicitation: {} });
      const taskId = taskIn(await client.call('meet').next());
      const asking = await untilStatus(client, taskId, 'input_required');
      const again = await untilStatus(client, taskId, 'input_required');
      assert.deepEqual(again['inputRequests'], asking['inputRequests']);
      const [[key = '', question] = []] = Object.entries(asking['inputRequests'] as Record<string, object>);
      assert.deepEqual(question, {
        method: 'elicitation/create',
        params: {
          message: 'Your name?',
          requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
        },
      });
      const foreign = await client.request('tasks/update', { taskId, inputResponses: { other: {} } }).next();
      assert.equal(foreign.result?.['resultType'], 'complete');
      const inputResponses = { [key]: accept('name', 'Ana') };
      const updated = await client.request('tasks/update', { taskId, inputResponses }).next();
      assert.equal(updated.result?.['resultType'], 'complete');
      const done = await untilStatus(client, taskId, 'completed');
      assert.deepEqual(done['result'], { content: [{ type: 'text', text: 'Hello, Ana!' }] });
    },
  );

  test(
    `over ${transport}, a task of 2025 is cancelled, and is the caller's alone (K2, K7)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2025', transport);
      const client = statelessClient(agent, { ...takesTasks, elicitation: {} });
      const taskId = taskIn(await client.call('meet').next());
      await untilStatus(client, taskId, 'input_required');
      await client.request('tasks/cancel', { taskId }).next();
      await untilStatus(client, taskId, 'cancelled');
      const session = await sessionClient(agent);
      assert.equal((await session.request('tasks/get', { taskId }).next()).error?.code, -32_602);
      const unknown = await client.request('tasks/update', { taskId: 'x', inputResponses: {} }).next();
      assert.equal(unknown.error?.code, -32_602);
    },
  );

  test(
    `over ${transport}, without tasks a tool of 2025 runs, or says that it needs them (K7)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2025', transport);
      const client = statelessClient(agent);
      assert.match(textOf(await client.call('wait', {}, { task: {} }).next()), /^waited in/);
      const refused = client.call('fail');
      assert.equal(await refused.status(), 400);
      assert.equal((await refused.next()).error?.code, -32_021);
      const listen = statelessClient(agent, takesTasks).request('subscriptions/listen', {
        notifications: { taskIds: ['x'] },
      });
      assert.deepEqual((await listen.next()).params?.['notifications'], {});
      listen.abort();
    },
  );

  test(`over ${transport}, a client of 2025 waits for a task of 2026 (R13)`, limits, async (t) => {
    const agent = await startTasksAgent(t, '2026', transport);
    const client = await sessionClient(agent);
    assert.equal(textOf(await client.call('wait', { ms: 100 }, { task: {} }).next()), 'waited');
    const failed = await client.call('fail').next();
    assert.equal(failed.result?.['isError'], true);
    const broken = await client.call('break').next();
    assert.deepEqual(broken.error, { code: -32_050, message: 'Broken', data: { part: 1 } });
    assert.equal((await client.request('tasks/list').next()).error?.code, -32_601);
  });

  test(
    `over ${transport}, a client of 2025 is asked what a task of 2026 asks (R13, A2)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2026', transport);
      const client = await sessionClient(agent, canAll);
      const call = client.call('meet');
      const asked = await call.next();
      assert.equal(asked.method, 'elicitation/create');
      await client.answer(asked.id, accept('name', 'Ana'));
      assert.equal(textOf(await call.next()), 'Hello, Ana!');
      const alone = await (await sessionClient(agent)).call('meet').next();
      assert.equal(alone.error?.code, -32_603);
      await allOver(agent);
    },
  );

  test(
    `over ${transport}, a client of 2025 that cancels its call cancels the task (R13, R7)`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, '2026', transport);
      const client = await sessionClient(agent);
      const call = client.call('wait', { ms: 60_000 });
      const { lastId } = client;
      t.after(() => call.abort());
      await eventually('the task runs', async () => (await statuses(agent)) === '1 tasks, working');
      await client.cancel(lastId);
      await allOver(agent);
    },
  );
}

test('a task of 2025 whose client asks no more is answered in its place (K7, A4)', limits, async (t) => {
  const agent = await startTasksAgent(t, '2025', 'http', { parkTtlMs: 200 });
  const client = statelessClient(agent, { ...takesTasks, elicitation: {} });
  const taskId = taskIn(await client.call('meet').next());
  await untilStatus(client, taskId, 'input_required');
  await sleep(1000);
  const done = await untilStatus(client, taskId, 'completed');
  assert.deepEqual(done['result'], { content: [{ type: 'text', text: 'Hello, cancel!' }] });
});

async function statuses(agent: TestServer): Promise<string> {
  return textOf(await statelessClient(agent).call('plain').next()).replace('no task; ', '');
}

async function allOver(agent: TestServer): Promise<void> {
  await eventually('no task runs', async () => !/working|input_required/.test(await statuses(agent)));
}
