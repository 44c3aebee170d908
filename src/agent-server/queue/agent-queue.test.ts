import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  eventually,
  openSession,
  type TestServer,
  temporaryFolder,
  testServer,
  toolCall,
} from '../testing/harness.ts';

const timeout = 30_000;

function sleeper(name: string, seconds: number, more: object = {}): object {
  const script = `echo begun; sleep ${seconds}; echo done`;
  return { name, command: '/bin/sh', args: ['-c', script], async: true, ...more };
}

async function serve(t: TestContext, code: string, tools: object[], limits = {}): Promise<TestServer> {
  return testServer(t, { code, mcp: { maxParallelTasks: 1, tools }, limits });
}

async function begin(server: TestServer, tool: string): Promise<string> {
  const session = await openSession(server);
  const answer = await server.post(toolCall(tool), { 'mcp-session-id': session });
  return String(answer.json.result.metadata['taskId']);
}

async function taskOf(server: TestServer, id: string): Promise<Record<string, unknown>> {
  return (await server.send('GET', `/getTaskStatus?taskId=${id}`)).json.task;
}

async function becomes(server: TestServer, id: string, status: string): Promise<Record<string, unknown>> {
  await eventually(`${id} is ${status}`, async () => (await taskOf(server, id))['status'] === status);
  return taskOf(server, id);
}

test('tasks that wait when an agent-server ends are run by the next one', { timeout }, async (t) => {
  const code = await temporaryFolder(t);
  const tools = [sleeper('quick', 0), sleeper('slow', 0.5)];
  const first = await serve(t, code, tools);
  const slow = await begin(first, 'slow');
  const quick = await begin(first, 'quick');
  await becomes(first, slow, 'running');
  await first.server.close();
  const second = await serve(t, code, tools);
  assert.equal((await taskOf(second, slow))['status'], 'completed', 'what ran was given its time');
  const record = await becomes(second, quick, 'completed');
  assert.match(JSON.stringify(record['result']), /begun.*done/s);
});

test('tasks that take longer than an orderly end are interrupted, with what they wrote', {
  timeout,
}, async (t) => {
  const code = await temporaryFolder(t);
  const tools = [sleeper('slow', 60)];
  const first = await serve(t, code, tools, { drainMs: 100 });
  const slow = await begin(first, 'slow');
  await eventually('it wrote', async () => (await taskOf(first, slow))['logTail'] === 'begun\n');
  const begun = performance.now();
  await first.server.close();
  assert.ok(performance.now() - begun < 5000);
  const record = await taskOf(await serve(t, code, tools), slow);
  assert.deepEqual([record['status'], record['logTail']], ['failed', 'begun\n']);
  assert.match(String(record['error']), /^Task interrupted before completion/);
});

test('an agent-server whose calls are no tasks makes no queue', { timeout }, async (t) => {
  const code = await temporaryFolder(t);
  const server = await serve(t, code, [sleeper('call', 0, { async: false })]);
  const session = await openSession(server);
  await server.post(toolCall('call'), { 'mcp-session-id': session });
  assert.equal((await server.send('GET', '/getTaskStatus?taskId=0000000000000000')).status, 404);
  await server.server.close();
  assert.equal(existsSync(join(code, '.tasksQueue')), false);
});

test('tasks of a queue file of the reference can be polled', { timeout }, async (t) => {
  const code = await temporaryFolder(t);
  const times = { createdAt: '2026-01-01T10:00:00.000Z', updatedAt: '2026-01-01T10:00:00.000Z' };
  const item = { id: '00000000000000a1', toolName: 'slow', payload: {}, status: 'running', ...times };
  writeFileSync(join(code, '.tasksQueue'), JSON.stringify([item]));
  const server = await serve(t, code, [sleeper('slow', 0)]);
  const record = await taskOf(server, '00000000000000a1');
  assert.deepEqual(
    [record['status'], record['error'], record['createdAt']],
    ['failed', 'Task interrupted before completion (agent restart)', times.createdAt],
  );
  const id = await begin(server, 'slow');
  await becomes(server, id, 'completed');
});
