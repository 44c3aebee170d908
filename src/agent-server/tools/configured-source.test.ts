import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, temporaryFolder, testServer } from '../testing/harness.ts';

const timeout = 60_000;
const here = { name: 'here', command: 'echo ran', async: true };
const away = { name: 'away', command: 'while [ ! -e go ]; do sleep 0.05; done; echo ran', async: true };

/** An agent with a file of tools that is looked at often, and one place for tasks. */
async function start(t: TestContext) {
  const code = await temporaryFolder(t);
  const path = join(code, 'mcp-config.json');
  const write = async (...tools: object[]) => {
    await writeFile(`${path}.new`, JSON.stringify({ tools, maxParallelTasks: 1 }));
    await rename(`${path}.new`, path);
  };
  await write(here, away);
  const agent = await testServer(t, { code, limits: { configPollMs: 20 } });
  const order = (key: string, tool: string) =>
    agent.send('POST', '/tasks', {}, JSON.stringify({ key, tool, input: {} }));
  return {
    ...{ code, path, write, order },
    reason: async () => (JSON.parse((await agent.send('GET', '/ready')).text) as { reason: string }).reason,
    statusOf: async (key: string, tool: string) => (await order(key, tool)).json.task?.['status'],
  };
}

test('the tools of a file that has gone stay in use, and it may come back as it was', {
  timeout,
}, async (t) => {
  const { path, reason, statusOf } = await start(t);
  await rename(path, `${path}.old`);
  await eventually('it is gone', async () => (await reason()) === 'ConfigInvalid');
  await eventually('its tool runs', async () => (await statusOf('u/1', 'here')) === 'completed');
  await rename(`${path}.old`, path);
  await eventually('it is back', async () => (await reason()) === 'Ready');
});

test('tasks wait for a tool that has gone for a moment', { timeout }, async (t) => {
  const { code, write, order, statusOf } = await start(t);
  for (const key of ['u/1', 'u/2']) await order(key, 'away');
  await write(here);
  let tries = 0;
  await eventually('it is gone', async () => (await order(`probe/${tries++}`, 'away')).status === 400);
  await writeFile(join(code, 'go'), '');
  await eventually('what ran has ended', async () => (await statusOf('u/1', 'away')) === 'completed');
  await eventually('others run', async () => (await statusOf('u/3', 'here')) === 'completed');
  await sleep(100);
  assert.equal(await statusOf('u/2', 'away'), 'pending');
  await write(here, away);
  await eventually('it runs', async () => (await statusOf('u/2', 'away')) === 'completed');
});
