import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { isAlive, taskTools } from '#agent-server/tasks/testing.ts';
import { eventually, temporaryFolder } from '#agent-server/testing/harness.ts';
import { editableTables } from '#router/testing/harness.ts';
import { agentNamed } from '#routing/testing.ts';
import { type Answer, ask, type Replica, startReplica, startRouter, untilTask } from './task-places.ts';

// Tasks of commands outlive their agent-server: processes with workspaces of their own, behind two routers.

const limits = { timeout: 120_000 };
const again = { execution: { taskSupport: 'optional' }, retries: 1 };
/** Each waits the first time until it is killed, and says with its second process that it came that far. */
const tools = [
  ...taskTools,
  {
    name: 'twice',
    command: 'if [ -e tried ]; then echo second; else echo $$ > tried; sleep 300; fi',
    ...again,
  },
  { name: 'once', command: 'echo $$ > once.pid; echo run >> once.runs; sleep 300', ...again, retries: 0 },
];

const pods = [
  { uid: 'first-pod', slot: 0 },
  { uid: 'second-pod', slot: 1 },
] as const;

function agentAt(replicas: Readonly<Record<string, Replica>>, slots: Readonly<Record<string, number>>) {
  const endpoints = Object.entries(replicas).map(([uid, { address }]) => ({
    ...{ name: `tasks-${slots[uid]}-5f2ab`, uid, address, ready: true, terminating: false },
  }));
  return agentNamed('tasks', { uid: 'uid-tasks', status: { endpoints, toolsDigest: 'd', conditions: [] } });
}

interface Stand {
  readonly urls: readonly string[];
  readonly folder: string;
  /** Kills the pod in slot 1 as it runs, and puts another one with its workspace there. */
  replace(): Promise<void>;
}

/** Two replicas with workspaces of their own; `urls` are both surfaces at two routers. */
async function startStand(t: TestContext): Promise<Stand> {
  const folders = [await temporaryFolder(t), await temporaryFolder(t)] as const;
  const [one, two] = [
    await startReplica(t, folders[0], pods[0], tools),
    await startReplica(t, folders[1], pods[1], tools),
  ];
  const slots = { 'first-pod': 0, 'second-pod': 1, 'third-pod': 1 };
  const tables = editableTables([agentAt({ 'first-pod': one, 'second-pod': two }, slots)]);
  const [left, right] = [await startRouter(t, tables), await startRouter(t, tables)];
  return {
    urls: [`${left}/mcps/tasks/mcp`, `${right}/mcps/tasks/mcp`, `${left}/mcp`, `${right}/mcp`],
    folder: folders[1],
    async replace() {
      await two.kill();
      const third = await startReplica(t, folders[1], { uid: 'third-pod', slot: 1 }, tools);
      tables.set([agentAt({ 'first-pod': one, 'third-pod': third }, slots)]);
    },
  };
}

/** A task of this tool in slot 1: calls go to one replica or the other, as it comes. */
async function beginThere(url: string, name: string): Promise<string> {
  for (let calls = 0; calls < 64; calls += 1) {
    const { taskId } = await ask(url, 'tools/call', { name, arguments: {} });
    if (String(taskId).includes('durable-1')) return String(taskId);
    await ask(url, 'tasks/cancel', { taskId });
  }
  throw new Error('no call came to slot 1');
}

const textIn = ({ result }: Answer) =>
  (result as { content: { text: string }[] }).content.map(({ text }) => text).join('');

for (const surface of ['/mcps/tasks/mcp', '/mcp']) {
  test(`tasks begun at ${surface} outlive their agent-server and its pod`, limits, async (t) => {
    const stand = await startStand(t);
    const [here = '', there = ''] = stand.urls.filter((url) => url.endsWith(surface));
    const finished = await beginThere(here, 'quick');
    await untilTask(here, finished, 'completed');
    const asking = await beginThere(here, 'meet');
    const { inputRequests } = await untilTask(here, asking, 'input_required');
    const [key = ''] = Object.keys(inputRequests as object);
    const twice = await beginThere(here, 'twice');
    const once = await beginThere(here, 'once');
    const file = (name: string) => readFile(join(stand.folder, name), 'utf8').catch(() => '');
    await eventually('both run', async () => (await file('tried')) !== '' && (await file('once.pid')) !== '');
    const started = [Number(await file('tried')), Number(await file('once.pid'))];

    // Acknowledged, and not looked at before the crash.
    const fresh = await beginThere(here, 'quick');
    await stand.replace();

    const done = await untilTask(there, finished, 'completed');
    assert.deepEqual([done['taskId'], textIn(done)], [finished, 'done\nstderr:\naside\n']);
    // If it ran at the kill, it is not run again without leave.
    await untilTask(there, fresh, 'completed', 'failed');
    assert.equal(textIn(await untilTask(there, twice, 'completed')), 'second\n');
    const lost = await untilTask(there, once, 'failed');
    assert.equal((lost['error'] as { code: number }).code, -32_603);
    assert.equal(await file('once.runs'), 'run\n');
    for (const pid of started) await eventually('its processes are gone', () => !isAlive(pid), 10_000);

    await untilTask(there, asking, 'input_required');
    const inputResponses = { [key]: { action: 'accept', content: { name: 'Ana' } } };
    await ask(there, 'tasks/update', { taskId: asking, inputResponses });
    assert.match(textIn(await untilTask(here, asking, 'completed')), /"requestState":"s1"/);
    const forged = await ask(there, 'tasks/get', { taskId: finished.replace('durable-1', 'durable-0') });
    assert.equal(forged.code, -32_602);
  });
}
