import assert from 'node:assert/strict';
import { test } from 'node:test';
import { taskIn, untilStatus } from '../bridge/tasks/testing.ts';
import { accept, type Message, type Params, sessionClient, textOf } from '../bridge/testing.ts';
import { eventually } from '../testing/harness.ts';
import { startTasks } from './testing.ts';

// Commands as tasks of 2025-11-25, and for clients that know none.

const limits = { timeout: 60_000 };
const canAsk = { elicitation: {} };
const asTask = { task: { ttl: 60_000 } };

test('a call is a task from its beginning to its result', limits, async (t) => {
  const client = await sessionClient(await startTasks(t));
  const begun = await client.call('quick', {}, asTask).next();
  const task = begun.result?.['task'] as Params;
  assert.deepEqual([task['status'], task['ttl'], task['pollInterval']], ['working', 60_000, 50]);
  const taskId = taskIn(begun);
  const done = await untilStatus(client, taskId, 'completed');
  assert.deepEqual([done['taskId'], done['ttl']], [taskId, 60_000]);
  const { result } = await client.request('tasks/result', { taskId }).next();
  assert.equal(textOf({ result: result as Params }), 'done\n');
  assert.deepEqual(result?.['_meta'], { 'io.modelcontextprotocol/related-task': { taskId } });
  assert.equal((await client.request('tasks/cancel', { taskId }).next()).error?.code, -32_602);
});

test('tasks are announced, and a tool says whether it can be one', limits, async (t) => {
  const client = await sessionClient(await startTasks(t));
  const { tools } = (await client.request('tools/list').next()).result as { tools: Params[] };
  const support = Object.fromEntries(
    tools.map(({ name, execution }) => [
      name,
      (execution as { taskSupport?: string } | undefined)?.taskSupport,
    ]),
  );
  assert.deepEqual(
    [support['plain'], support['quick'], support['fails'], support['long'], support['queued']],
    [undefined, 'optional', 'required', 'optional', 'optional'],
  );
  assert.equal((await client.call('plain', {}, asTask).next()).error?.code, -32_601);
  assert.equal((await client.call('fails').next()).error?.code, -32_601);
});

test(
  'tasks/result waits for the end; a tool that fails has failed, and so has what was cancelled',
  limits,
  async (t) => {
    const client = await sessionClient(await startTasks(t));
    const long = taskIn(await client.call('long', {}, asTask).next());
    assert.equal(textOf(await client.request('tasks/result', { taskId: long }).next()), 'early\nlong\n');
    const fails = taskIn(await client.call('fails', {}, asTask).next());
    await untilStatus(client, fails, 'failed');
    assert.equal((await client.request('tasks/result', { taskId: fails }).next()).result?.['isError'], true);
    const breaks = taskIn(await client.call('breaks', {}, asTask).next());
    assert.equal((await client.request('tasks/result', { taskId: breaks }).next()).error?.code, -32_050);
    const slow = taskIn(await client.call('slow', {}, asTask).next());
    const waiting = client.request('tasks/result', { taskId: slow }).next();
    const { result } = await client.request('tasks/cancel', { taskId: slow }).next();
    assert.deepEqual([result?.['taskId'], result?.['status']], [slow, 'cancelled']);
    assert.equal((await waiting).error?.code, -32_603);
  },
);

test(
  'a task asks its client on the stream of tasks/result, and so does a call on its own',
  limits,
  async (t) => {
    const client = await sessionClient(await startTasks(t), canAsk);
    const taskId = taskIn(await client.call('meet-again', {}, asTask).next());
    await untilStatus(client, taskId, 'input_required');
    const result = client.request('tasks/result', { taskId });
    for (const name of ['Ana', 'Ben']) {
      const asked = await result.next();
      assert.equal(asked.method, 'elicitation/create');
      assert.deepEqual(asked.params?.['_meta'], { 'io.modelcontextprotocol/related-task': { taskId } });
      await client.answer(asked.id, accept('name', name));
    }
    const { metadata } = JSON.parse(textOf(await result.next()));
    assert.deepEqual(metadata.inputResponses, { name: accept('name', 'Ben') });

    const call = client.call('meet-now');
    const asked = await call.next();
    assert.equal(asked.method, 'elicitation/create');
    await client.answer(asked.id, accept('name', 'Cleo'));
    const answered = JSON.parse(textOf(await call.next())).metadata;
    assert.deepEqual(
      [answered.inputResponses, answered.requestState],
      [{ name: accept('name', 'Cleo') }, 's1'],
    );
    const mute = await sessionClient(await startTasks(t));
    assert.equal((await mute.call('meet-now').next()).error?.code, -32_603);
  },
);

test('only its owner sees a task, and is told how it goes on', limits, async (t) => {
  const agent = await startTasks(t);
  const [ana, ben] = [await sessionClient(agent), await sessionClient(agent)];
  const stream = ana.listen();
  const taskId = taskIn(await ana.call('slow', {}, asTask).next());
  const other = taskIn(await ben.call('quick', {}, asTask).next());
  for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
    assert.equal((await ben.request(method, { taskId }).next()).error?.code, -32_602, method);
  const idsOf = async (client: typeof ana) => {
    const { result = {} } = await client.request('tasks/list').next();
    return (result['tasks'] as Params[]).map((task) => task['taskId']);
  };
  await ana.call('queued').next();
  assert.deepEqual([await idsOf(ana), await idsOf(ben)], [[taskId], [other]]);
  await ana.request('tasks/cancel', { taskId }).next();
  let heard: Message;
  do heard = await stream.next();
  while (heard.params?.['status'] !== 'cancelled');
  assert.deepEqual([heard.method, heard.params['taskId']], ['notifications/tasks/status', taskId]);
  stream.abort();
});

test('who knows no tasks is answered as the Ploinky contract says', limits, async (t) => {
  const agent = await startTasks(t);
  const client = await sessionClient(agent, canAsk);
  const status = async (id: unknown) =>
    (await agent.send('GET', `/getTaskStatus?taskId=${String(id)}`)).json.task;
  const queued = (await client.call('queued').next()).result?.['metadata'] as Params;
  assert.deepEqual([queued['agent'], queued['toolName'], queued['status']], ['demo', 'queued', 'pending']);
  await eventually('done', async () => (await status(queued['taskId']))['status'] === 'completed');
  const long = (await client.call('long').next()).result?.['metadata'] as Params;
  const running = await status(long['taskId']);
  assert.deepEqual([running['status'], running['result'], running['logTail']], ['running', null, 'early\n']);
  assert.deepEqual(running['progress'], { progress: 1, total: 2, message: 'half' });
  await eventually('done', async () => (await status(long['taskId']))['status'] === 'completed');
  assert.equal((await status(long['taskId']))['logTail'], 'early\nlong\n');
  // Nobody can be asked there.
  const asks = (await client.call('queued-asks').next()).result?.['metadata'] as Params;
  await eventually('failed', async () => (await status(asks['taskId']))['status'] === 'failed');
  assert.match(String((await status(asks['taskId']))['error']), /cannot answer/);
});
