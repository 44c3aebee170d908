import assert from 'node:assert/strict';
import { textOf } from '#agent-server/bridge/testing.ts';
import { tasksExtension } from '#mcp/eras.ts';
import type { MatrixClient } from '../client.ts';
import { type Feature, isModern, plain, resultOf, text } from '../feature.ts';
import type { Outcome } from '../ways.ts';

const args = { n: 1 };
const whole = { content: text('done {"n":1}') };

/** Tasks of 2025: the client wants one of a tool that says it can be one, and asks for its result. */
async function ofSessions(client: MatrixClient): Promise<Outcome> {
  const { answer } = await client.call('job', args, { params: { task: { ttl: 60_000 } } });
  const { task } = resultOf(answer) as { task?: { taskId: string } };
  const isAnnounced = client.capabilities['tasks'] !== undefined && (await isOptionalTask(client));
  assert.equal(task !== undefined, isAnnounced, 'what is announced is what is served');
  if (task === undefined) {
    assert.deepEqual(plain(answer, client.revision), whole, 'the call just runs');
    assert.equal((await client.ask('tasks/list')).error?.code, -32_601);
    return 'refused: R12';
  }
  const { taskId } = task;
  assert.equal(resultOf(await client.ask('tasks/get', { taskId }))['taskId'], taskId);
  assert.deepEqual(plain(await client.ask('tasks/result', { taskId }), client.revision), whole);
  assert.equal((await client.ask('tasks/get', { taskId: `${taskId}x` })).error?.code, -32_602);
  return 'passed';
}

async function isOptionalTask(client: MatrixClient): Promise<boolean> {
  const { tools } = resultOf(await client.ask('tools/list')) as { tools: Tool[] };
  return tools.find(({ name }) => name === 'job')?.execution?.taskSupport === 'optional';
}

interface Tool {
  readonly name: string;
  readonly execution?: { readonly taskSupport?: string };
}

/** Tasks of 2026: the server decides, and a client that declared the extension asks until the result is there. */
async function ofExtension(client: MatrixClient): Promise<Outcome> {
  const extensions = client.capabilities['extensions'] as Record<string, unknown> | undefined;
  const { answer } = await client.call('job', args);
  const { resultType, taskId } = resultOf(answer);
  if (resultType !== 'task') {
    assert.equal(extensions?.[tasksExtension], undefined, 'announced, but not served');
    assert.equal(textOf(answer), 'done {"n":1}', 'the call just runs');
    assert.equal((await client.ask('tasks/get', { taskId: 'task-1' })).error?.code, -32_601);
    return 'refused: R13';
  }
  assert.ok(extensions?.[tasksExtension] !== undefined, 'served, but not announced');
  const finished = resultOf(await client.ask('tasks/get', { taskId }));
  assert.deepEqual([finished['status'], finished['result']], ['completed', whole]);
  assert.equal((await client.ask('tasks/get', { taskId: 'none' })).error?.code, -32_602);
  return 'passed';
}

const tasks: Feature = {
  name: 'tasks',
  what: 'a call that becomes a task, asked for and its result taken, in the form of the client’s revision',
  async exercise({ way, connect }) {
    if (!isModern(way.client)) return ofSessions(await connect());
    return ofExtension(await connect({ capabilities: { extensions: { [tasksExtension]: {} } } }));
  },
};

export const taskFeatures: readonly Feature[] = [tasks];
