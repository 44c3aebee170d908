import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openSession, type TestServer, testServer, toolCall } from '#agent-server/testing/harness.ts';
import { trackedLabel } from '#api/labels.ts';
import { taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import { createStand, type Stand } from './stand.ts';

// Tasks that a client of MCP began appear as Task resources, over the workspace API and an agent-server with its queue.

const bounded = { timeout: 120_000 };
const base = { description: 'A tool.', command: 'sh', inputSchema: { type: 'object' }, async: true };
const tools = [
  { ...base, name: 'mark', args: ['-c', 'read -r line; printf "%s\\n" "$line" >> ran; echo done'] },
  { ...base, name: 'fail', args: ['-c', 'echo broken >&2; exit 3'] },
  { ...base, name: 'nap', args: ['-c', 'echo $$ >> pids; exec sleep 60'] },
  {
    ...base,
    name: 'ask',
    args: [
      '-c',
      `read -r line; case "$line" in *inputResponses*) echo answered;; *) echo '${JSON.stringify({ inputRequests: { sure: { method: 'elicitation/create', params: { message: 'sure?', requestedSchema: { type: 'object', properties: {} } } } } })}' >&3;; esac`,
    ],
  },
];

interface Open {
  readonly stand: Stand;
  readonly server: TestServer;
  begin(tool: string, args?: object): Promise<void>;
  file(name: string): string[];
  until(isSo: (tasks: readonly Task[]) => boolean): Promise<readonly Task[]>;
}

async function open(t: TestContext, tasks: object, maxTrackedTasks = 100): Promise<Open> {
  const stand = await createStand(t);
  const server = await testServer(t, { mcp: { tools }, limits: { maxTrackedTasks } });
  await stand.addAgent(server, { tasks });
  const session = await openSession(server, { elicitation: {} });
  return {
    stand,
    server,
    async begin(tool, args = {}) {
      const message = toolCall(tool, args);
      const params = { ...message.params, task: {} };
      const { json } = await server.post({ ...message, params }, { 'mcp-session-id': session });
      assert.equal(json.error, undefined, JSON.stringify(json));
    },
    file: (name) => {
      const path = join(server.code, name);
      return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n') : [];
    },
    async until(isSo) {
      let seen: readonly Task[] = [];
      for (let tries = 0; tries < 200; tries += 1) {
        seen = await stand.tasks();
        if (isSo(seen)) return seen;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      return assert.fail(`it does not come about: ${JSON.stringify(seen)}`);
    },
  };
}

const always = { track: 'Always' };
const are = (phase: string, many: number) => (tasks: readonly Task[]) =>
  tasks.length === many && tasks.every(({ status }) => status?.phase === phase);

test(
  'a task of a client appears as a Task that two controllers make once, and nothing runs for it',
  bounded,
  async (t) => {
    const { stand, server, begin, file, until } = await open(t, always);
    await Promise.all([stand.control('one', server), stand.control('two', server)]);
    await begin('mark', { n: 1 });
    const [task] = await until(are('Succeeded', 1));
    assert.match(task?.metadata.name ?? '', /^demo-[0-9a-f]{16}$/);
    assert.equal(task?.metadata.labels?.[trackedLabel], 'demo');
    assert.equal(task?.metadata.ownerReferences?.[0]?.kind, 'Agent');
    assert.deepEqual([task?.spec.tool, task?.spec.input], ['mark', { n: 1 }]);
    const { attempts, taskId, exitCode, startedAt, completedAt, result } = task?.status ?? {};
    assert.deepEqual([attempts, taskId, exitCode], [1, task?.spec.execution?.id, 0]);
    assert.ok(taskId && !task?.metadata.name.includes(taskId), 'the right to look is in no name');
    assert.ok(startedAt !== undefined && completedAt !== undefined);
    assert.match(result?.content ?? '', /done/);
    assert.equal(file('ran').length, 1);
    await begin('fail');
    const tasks = await until((all) => all.length === 2 && all.every(({ status }) => status?.completedAt));
    assert.deepEqual(tasks.map(({ status }) => [status?.phase, status?.exitCode]).sort(), [
      ['Failed', 3],
      ['Succeeded', 0],
    ]);
  },
);

test('without the policy nothing appears, whatever the agent-server says', bounded, async (t) => {
  const { stand, server, begin, file } = await open(t, { track: 'Never' });
  await stand.control('one', server);
  await begin('mark');
  for (let tries = 0; tries < 100 && file('ran').length === 0; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 50));
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.deepEqual([file('ran').length, (await stand.tasks()).length], [1, 0]);
});

test(
  'what began and ended while no controller was there appears once one is, and once only',
  bounded,
  async (t) => {
    const { stand, server, begin, until } = await open(t, always);
    await begin('mark', { n: 2 });
    await begin('nap');
    const stop = await stand.control('one', server);
    const seen = await until(
      (all) => all.some(({ status }) => status?.phase === 'Running') && all.length === 2,
    );
    await until((all) => all.some(({ status }) => status?.phase === 'Succeeded'));
    await stop();
    await stand.control('two', server);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const later = await stand.tasks();
    assert.deepEqual(
      later.map(({ metadata }) => metadata.uid).sort(),
      seen.map(({ metadata }) => metadata.uid).sort(),
    );
  },
);

test(
  'to delete it cancels the task, also while no controller is there, and it stays away',
  bounded,
  async (t) => {
    const { stand, server, begin, file, until } = await open(t, always);
    const stop = await stand.control('one', server);
    await begin('nap');
    await begin('nap');
    const [first, second] = await until(are('Running', 2));
    const remove = (task: Task | undefined) =>
      stand.user.delete(taskResource, { namespace: 'default', name: task?.metadata.name ?? '' });
    const alive = () => file('pids').filter((pid) => existsSync(`/proc/${pid}`)).length;
    await remove(first);
    for (let tries = 0; tries < 100 && alive() > 1; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(alive(), 1);
    await stop();
    await remove(second);
    await stand.control('two', server);
    for (let tries = 0; tries < 300 && alive() > 0; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual([alive(), (await stand.tasks()).length], [0, 0]);
  },
);

test(
  'there are never more than maxTracked: the oldest that ended makes room, what runs does not',
  bounded,
  async (t) => {
    const { stand, server, begin, until } = await open(t, { ...always, maxTracked: 2 });
    await stand.control('one', server);
    await begin('nap');
    await until(are('Running', 1));
    for (let count = 0; count < 4; count += 1) await begin('mark', { n: count });
    await until((all) => all.some(({ spec }) => spec.input?.['n'] === 3) && all.length <= 2);
    await begin('nap');
    await begin('nap');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    const running = await until(are('Running', 2));
    await stand.user.delete(taskResource, { namespace: 'default', name: running[0]?.metadata.name ?? '' });
    const next = await until(
      (all) => all.length === 2 && all.every(({ metadata }) => metadata.uid !== running[0]?.metadata.uid),
    );
    assert.equal(next.filter(({ spec }) => spec.tool === 'nap').length, 2);
  },
);

test(
  'one that asks its client goes on: the Task does not answer for it, and ends with it',
  bounded,
  async (t) => {
    const { stand, server, begin, until } = await open(t, always);
    await stand.control('one', server);
    await begin('ask');
    const [task] = await until(are('Running', 1));
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal((await stand.tasks())[0]?.status?.phase, 'Running');
    await stand.user.delete(taskResource, { namespace: 'default', name: task?.metadata.name ?? '' });
  },
);

test('it goes by itself a while after its end', bounded, async (t) => {
  const { stand, server, begin, until } = await open(t, { ...always, ttlSecondsAfterFinished: 1 });
  await stand.control('one', server);
  await begin('mark');
  await until((all) => all.length === 1);
  await until((all) => all.length === 0);
});
