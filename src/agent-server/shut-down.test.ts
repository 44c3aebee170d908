import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { systemRandom } from '#kit/random.ts';
import { type AgentServerChange, followChanges } from '#wire/changes.ts';
import type { TaskLine } from '#wire/task-line.ts';
import { openTaskLink } from '#wire/tasks.ts';
import { eventually, temporaryFolder, testServer } from './testing/harness.ts';

const timeout = 60_000;
const target = {
  agent: { namespace: 'default', name: 'demo', uid: 'uid-1' },
  instance: 'instance-1',
  keys: [{ kid: 'test', secret: Buffer.alloc(32, 7) }],
};

/** An agent-server that runs a script as a controller's task, and what the controller hears of it until its stream ends. */
async function running(t: TestContext, script: string, limits: Record<string, number>) {
  const code = await temporaryFolder(t);
  const tools = [{ name: 'own', command: 'sh', args: ['-c', script], inputSchema: { type: 'object' } }];
  const { server } = await testServer(t, { code, mcp: { tools }, limits }, { withoutTokens: false });
  const common = { ...target, address: server.address, clock: systemClock, random: systemRandom };
  const heard: AgentServerChange[] = [];
  const stop = new AbortController();
  let onTask = (_line: TaskLine) => {};
  const silent = followChanges({ ...common, signal: stop.signal }, (change) => {
    heard.push(change);
    if (change.type === 'task') onTask(change);
  }).catch(() => undefined);
  const link = openTaskLink(common);
  t.after(() => {
    stop.abort();
    link.close();
  });
  await eventually('it is heard', () => heard.some(({ type }) => type === 'state'));
  await link.submit({ key: 'u/1', tool: 'own', input: {}, priority: 1 });
  await eventually('it runs', () => tasksIn(heard).some(({ status }) => status === 'running'));
  return {
    ...{ server, code, heard, silent },
    onTask(listener: typeof onTask) {
      onTask = listener;
    },
  };
}

const tasksIn = (heard: readonly AgentServerChange[]) => heard.filter((change) => change.type === 'task');

test('who listens to changes hears how a task ends while the agent-server drains, and is not waited for', {
  timeout,
}, async (t) => {
  const { server, heard, silent } = await running(t, 'sleep 0.7; echo done', { drainMs: 20_000 });
  const started = performance.now();
  await server.close();
  await silent;
  const took = performance.now() - started;
  assert.ok(took > 200 && took < 10_000, `${took}`);
  assert.equal(tasksIn(heard).at(-1)?.status, 'completed');
  const states = heard.filter((change) => change.type === 'state');
  assert.deepEqual([states.at(-1)?.ready, states.at(-1)?.reason], [false, 'Stopping']);
});

test('a task that has not ended by then is told as interrupted when nothing of it runs any more', {
  timeout,
}, async (t) => {
  const script = 'trap "" TERM; echo $$ > pid; sleep 50; sleep 50';
  const { server, code, silent, onTask } = await running(t, script, { drainMs: 50, killGraceMs: 400 });
  const read = () => readFile(join(code, 'pid'), 'utf8').catch(() => '');
  await eventually('it has said who it is', async () => (await read()) !== '');
  const pid = Number(await read());
  assert.equal(isAlive(pid), true);
  const told: unknown[] = [];
  onTask(({ status, reason }) => told.push([status, reason, isAlive(pid)]));
  await server.close();
  await silent;
  assert.deepEqual(told, [['failed', 'Interrupted', false]]);
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
