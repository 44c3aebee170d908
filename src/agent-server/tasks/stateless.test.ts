import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOf, takesTasks, taskIn, untilStatus } from '../bridge/tasks/testing.ts';
import { accept, askedIn, type Client, type Params, statelessClient, textOf } from '../bridge/testing.ts';
import { eventually, testServer } from '../testing/harness.ts';
import { fileIn, isAlive, startTasks, taskTools } from './testing.ts';

// Commands as tasks of 2026-07-28.

const limits = { timeout: 60_000 };
const canAsk = { ...takesTasks, elicitation: {} };

const textIn = ({ result }: Params) => textOf({ result: result as Params });

async function finished(client: Client, name: string): Promise<Params> {
  const taskId = taskIn(await client.call(name).next());
  return untilStatus(client, taskId, 'completed');
}

test('a call is a task from its beginning to its result', limits, async (t) => {
  const client = statelessClient(await startTasks(t), takesTasks);
  const begun = (await client.call('quick').next()).result ?? {};
  assert.deepEqual(
    [begun['resultType'], begun['status'], begun['ttlMs'], begun['pollIntervalMs']],
    ['task', 'working', null, 50],
  );
  assert.match(String(begun['taskId']), /^instance-1\.durable\.[\w-]{22}\.[0-9a-f]{16}$/);
  for (const absent of ['task', 'result', 'error', 'inputRequests', 'requestState', 'ttl', 'pollInterval'])
    assert.ok(!(absent in begun), absent);
  const done = await untilStatus(client, String(begun['taskId']), 'completed');
  assert.deepEqual([done['taskId'], done['resultType']], [begun['taskId'], 'complete']);
  assert.equal(textIn(done), 'done\n');
});

test('only a server that has such tools announces tasks, and only they become some', limits, async (t) => {
  const client = statelessClient(await startTasks(t), takesTasks);
  assert.equal(textOf(await client.call('plain', {}, { task: { ttl: 1 } }).next()), 'plain\n');
  const discovered = (await client.request('server/discover').next()).result?.['capabilities'] as Params;
  assert.ok('io.modelcontextprotocol/tasks' in (discovered['extensions'] as object));
  const without = statelessClient(
    await testServer(t, { mcp: { tools: taskTools.filter(({ name }) => name === 'plain') } }),
    takesTasks,
  );
  const none = (await without.request('server/discover').next()).result?.['capabilities'] as Params;
  assert.equal(none['extensions'], undefined);
  assert.equal((await without.request('tasks/get', { taskId: 'x' }).next()).error?.code, -32_601);
});

test('who takes no tasks runs what can be run at once, and is told what cannot', limits, async (t) => {
  const client = statelessClient(await startTasks(t), { elicitation: {} });
  assert.equal(textOf(await client.call('quick').next()), 'done\n');
  const refused = client.call('fails');
  assert.deepEqual([(await refused.next()).error?.code, await refused.status()], [-32_021, 400]);
  const foreign = client.request('tasks/get', { taskId: 'x' });
  assert.deepEqual([(await foreign.next()).error?.code, await foreign.status()], [-32_021, 400]);
});

test('a tool that fails is completed, and only an error of JSON-RPC is a failure', limits, async (t) => {
  const client = statelessClient(await startTasks(t), takesTasks);
  const failed = (await finished(client, 'fails'))['result'] as Params;
  assert.deepEqual([failed['isError'], textOf({ result: failed })], [true, 'MCP error -32603: broken']);
  const late = (await finished(client, 'late'))['result'] as Params;
  assert.equal(late['isError'], true);
  assert.match(textOf({ result: late }), /timed out after 200ms/);
  const broken = await untilStatus(client, taskIn(await client.call('breaks').next()), 'failed');
  assert.deepEqual(broken['error'], { code: -32_050, message: 'Broken', data: { part: 1 } });
  assert.ok(!('result' in broken));
});

test(
  'a task that is cancelled while it runs is gone, and cancelling it again is no error',
  limits,
  async (t) => {
    const agent = await startTasks(t);
    const client = statelessClient(agent, takesTasks);
    const taskId = taskIn(await client.call('slow').next());
    await eventually('it runs', () => fileIn(agent, 'slow.pid').then(Boolean, () => false));
    const pid = Number(await fileIn(agent, 'slow.pid'));
    assert.ok(isAlive(pid));
    for (const _again of [1, 2]) {
      const { result } = await client.request('tasks/cancel', { taskId }).next();
      assert.deepEqual([result?.['resultType'], result?.['taskId']], ['complete', undefined]);
      await untilStatus(client, taskId, 'cancelled');
    }
    assert.ok(!isAlive(pid));
    const unknown = await client.request('tasks/cancel', { taskId: `${taskId.slice(0, -1)}x` }).next();
    assert.equal(unknown.error?.code, -32_602);
  },
);

test(
  'a task asks, waits without a process, and goes on with the answers and its own state',
  limits,
  async (t) => {
    const client = statelessClient(await startTasks(t), canAsk);
    const taskId = taskIn(await client.call('meet').next());
    const asking = await untilStatus(client, taskId, 'input_required');
    const [key = ''] = Object.keys(asking['inputRequests'] as object);
    assert.ok(!('requestState' in asking));
    const update = (inputResponses: unknown) =>
      client.request('tasks/update', { taskId, inputResponses }).next();
    assert.equal((await update({ other: accept('name', 'Eve') })).result?.['resultType'], 'complete');
    assert.equal((await untilStatus(client, taskId, 'input_required'))['status'], 'input_required');
    assert.equal((await update('x')).error?.code, -32_602);
    await update({ [key]: accept('name', 'Ana') });
    const { metadata } = JSON.parse(textIn(await untilStatus(client, taskId, 'completed')));
    assert.deepEqual(
      [metadata.inputResponses, metadata.requestState],
      [{ name: accept('name', 'Ana') }, 's1'],
    );
  },
);

test('what a task asks again is another question, and several are answered one by one', limits, async (t) => {
  const client = statelessClient(await startTasks(t), canAsk);
  const again = taskIn(await client.call('meet-again').next());
  const keys = new Set<string>();
  for (const name of ['Ana', 'Ben']) {
    const { inputRequests } = await untilStatus(client, again, 'input_required');
    const [key = ''] = Object.keys(inputRequests as object);
    keys.add(key);
    const inputResponses = { [key]: accept('name', name) };
    await client.request('tasks/update', { taskId: again, inputResponses }).next();
  }
  assert.equal(keys.size, 2);
  const { metadata } = JSON.parse(textIn(await untilStatus(client, again, 'completed')));
  assert.deepEqual(metadata.inputResponses, { name: accept('name', 'Ben') });

  const both = taskIn(await client.call('meet-two').next());
  const open = async () =>
    Object.keys((await untilStatus(client, both, 'input_required'))['inputRequests'] as object);
  const [first = '', second = ''] = await open();
  const answer = (key: string) =>
    client.request('tasks/update', { taskId: both, inputResponses: { [key]: accept('name', key) } }).next();
  await answer(first);
  assert.deepEqual(await open(), [second]);
  await answer(second);
  await untilStatus(client, both, 'completed');
});

test('a client is not asked what it did not declare, by a task or by a call', limits, async (t) => {
  const agent = await startTasks(t);
  const mute = statelessClient(agent, takesTasks);
  const failed = await untilStatus(mute, taskIn(await mute.call('meet').next()), 'failed');
  assert.equal((failed['error'] as { code: number }).code, -32_021);
  assert.equal((await mute.call('meet-now').next()).error?.code, -32_021);
  assert.equal(askedIn(await statelessClient(agent, canAsk).call('meet-now').next()).state, 's1');
});

test(
  'a call that outruns its window becomes a task without running again, one within it does not',
  limits,
  async (t) => {
    const agent = await startTasks(t);
    const client = statelessClient(agent, takesTasks);
    assert.equal(textOf(await client.call('brief').next()), 'brief\n');
    const taskId = taskIn(await client.call('long').next());
    const working = (await client.request('tasks/get', { taskId }).next()).result ?? {};
    assert.deepEqual([working['status'], working['statusMessage']], ['working', 'half']);
    assert.equal(textIn(await untilStatus(client, taskId, 'completed')), 'early\nlong\n');
    assert.equal(await fileIn(agent, 'runs'), 'ran\n');
    const other = statelessClient(agent, {});
    const told = (await other.call('long').next()).result?.['metadata'] as Params;
    assert.deepEqual([told['agent'], told['toolName'], told['status']], ['demo', 'long', 'running']);
    assert.equal((await other.call('long-only-mcp').next()).error?.code, -32_021);
  },
);

test('a call that outran its window ends at the limit of its task', limits, async (t) => {
  const client = statelessClient(await startTasks(t), takesTasks);
  const done = await finished(client, 'long-late');
  assert.match(textIn(done), /timed out after 400ms/);
});

test('the queue’s id in an id of MCP is no right to look, that of the contract is', limits, async (t) => {
  const agent = await startTasks(t);
  const client = statelessClient(agent, takesTasks);
  const status = async (id: string) => (await agent.send('GET', `/getTaskStatus?taskId=${id}`)).status;
  for (const name of ['quick', 'long', 'queued']) {
    const taskId = taskIn(await client.call(name).next());
    assert.equal(await status(taskId.split('.').at(-1) ?? ''), 404, name);
  }
  const told = (await statelessClient(agent, {}).call('queued').next()).result?.['metadata'] as Params;
  assert.equal(await status(String(told['taskId'])), 200);
  const order = JSON.stringify({ key: 'u/1', tool: 'queued', input: {} });
  const { json } = await agent.send('POST', '/tasks', {}, order);
  assert.equal(await status(String((json.task as Params)['id'])), 200);
});

test('a long call that is cancelled as a task ends its one run', limits, async (t) => {
  const client = statelessClient(await startTasks(t), takesTasks);
  const taskId = taskIn(await client.call('long').next());
  await client.request('tasks/cancel', { taskId }).next();
  await untilStatus(client, taskId, 'cancelled');
});

test('a task is its user’s alone', limits, async (t) => {
  const agent = await testServer(t, { mcp: { tools: taskTools } }, { withoutTokens: false });
  const ana = clientOf(agent, 'ana');
  const taskId = taskIn(await ana('tools/call', { name: 'slow', arguments: {} }));
  assert.equal((await ana('tasks/get', { taskId })).result['status'], 'working');
  for (const stranger of [clientOf(agent, 'ben'), clientOf(agent, '')])
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      assert.equal((await stranger(method, { taskId })).error.code, -32_602, method);
  await ana('tasks/cancel', { taskId });
});

test('who listens is told how a task goes on, also when it has ended before', limits, async (t) => {
  const client = statelessClient(await startTasks(t), canAsk);
  const taskId = taskIn(await client.call('meet').next());
  const foreign = `${taskId}0`;
  const hear = client.request('subscriptions/listen', { notifications: { taskIds: [taskId, foreign] } });
  const { params: acknowledged = {} } = await hear.next();
  const granted = acknowledged['notifications'] as Params;
  assert.deepEqual(granted['taskIds'], [taskId]);
  const { inputRequests } = await untilStatus(client, taskId, 'input_required');
  const [key = ''] = Object.keys(inputRequests as object);
  await client.request('tasks/update', { taskId, inputResponses: { [key]: accept('name', 'Ana') } }).next();
  let told: Params = {};
  while (told['status'] !== 'completed') {
    const { method, params = {} } = await hear.next();
    assert.deepEqual([method, params['taskId']], ['notifications/tasks', taskId]);
    told = params;
  }
  assert.match(textIn(told), /inputResponses/);
  hear.abort();
  const late = client.request('subscriptions/listen', { notifications: { taskIds: [taskId] } });
  await late.next();
  assert.equal((await late.next()).params?.['status'], 'completed');
  late.abort();
});

test('of a tool with a limit so many tasks run at once, and others run meanwhile', limits, async (t) => {
  const client = statelessClient(await startTasks(t), takesTasks);
  const [first, second] = [
    taskIn(await client.call('one-by-one').next()),
    taskIn(await client.call('one-by-one').next()),
  ];
  await untilStatus(client, taskIn(await client.call('quick').next()), 'completed');
  for (const taskId of [first, second]) {
    const { result } = await client.request('tasks/get', { taskId }).next();
    assert.equal(result?.['status'], 'working');
  }
  assert.equal(textIn(await untilStatus(client, first, 'completed')), 'alone\n');
  assert.equal(textIn(await untilStatus(client, second, 'completed')), 'alone\n');
});
