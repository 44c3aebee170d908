import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countingServer, startTasksAgent } from '../bridge/tasks/testing.ts';
import { eventually, type TestServer, testPath, testServer } from '../testing/harness.ts';

// Tools of an MCP server as tasks of the controller.

const limits = { timeout: 60_000 };

type Task = Record<string, unknown>;

async function order(agent: TestServer, body: object): Promise<{ status: number; task: Task }> {
  const { status, json } = await agent.send('POST', '/tasks', {}, JSON.stringify(body));
  return { status, task: json.task };
}

/** The same order again says how far it is. */
async function run(agent: TestServer, tool: string, input: object = {}, more: object = {}): Promise<Task> {
  const body = { key: `uid/${tool}`, tool, input, ...more };
  let task: Task = {};
  await eventually(`${tool} ends`, async () => {
    ({ task } = await order(agent, body));
    return ['completed', 'failed', 'cancelled'].includes(String(task['status']));
  });
  return task;
}

const textIn = ({ result }: Task) => (result as { content: { text: string }[] }).content[0]?.text;

for (const era of ['2025', '2026'] as const) {
  test(
    `what a server of ${era} runs as a task of its own is waited for, and cancelled with its task`,
    limits,
    async (t) => {
      const agent = await startTasksAgent(t, era, 'http');
      assert.match(String(textIn(await run(agent, 'wait', { ms: 50 }))), /^waited/);
      assert.match(String(textIn(await run(agent, 'plain'))), /no task/);
      const failed = await run(agent, 'fail');
      assert.deepEqual([failed['status'], failed['reason'], failed['isError']], ['failed', 'Failed', true]);
      if (era === '2026') {
        const { status, reason, message } = await run(agent, 'meet');
        assert.deepEqual([status, reason], ['failed', 'Failed']);
        assert.match(String(message), /cannot be (asked|passed on)/);
      }
      const late = await run(
        agent,
        'link',
        {},
        { key: 'late', tool: 'wait', input: { ms: 60_000 }, timeoutMs: 200 },
      );
      assert.deepEqual([late['status'], late['reason']], ['failed', 'TimedOut']);
      const endless = { key: 'endless', tool: 'wait', input: { ms: 60_000 } };
      await eventually('it runs', async () => (await order(agent, endless)).task['status'] === 'running');
      await agent.send('POST', '/tasks/cancel', {}, JSON.stringify({ key: 'endless' }));
      await eventually('it ends', async () => (await order(agent, endless)).task['status'] === 'cancelled');
      assert.equal((await order(agent, { key: 'x', tool: 'nowhere', input: {} })).status, 400);
    },
  );
}

/** Answers a call of `slow` after 900 ms. */
const slowServer = `
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
  const results = {
    initialize: { protocolVersion: '2025-11-25', serverInfo: { name: 'slow', version: '1' }, capabilities: { tools: {} } },
    'tools/list': { tools: [{ name: 'slow', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'slowly' }] },
  };
  require('node:readline').createInterface(process.stdin).on('line', (line) => {
    const { id, method } = JSON.parse(line);
    if (id === undefined) return;
    const result = results[method];
    if (result === undefined) send({ id, error: { code: -32601, message: 'no' } });
    else setTimeout(() => send({ id, result }), method === 'tools/call' ? 900 : 0);
  });`;

test(
  'a task’s own limit holds at a server, also where it is longer than that of calls',
  limits,
  async (t) => {
    const short = { upstreamTimeoutMs: 300 };
    const upstream = { stdio: [process.execPath, '-e', slowServer] };
    const agent = await testServer(t, { env: { PATH: testPath }, limits: short, mcp: { upstream } });
    const long = { timeoutMs: 20_000 };
    assert.equal(textIn(await run(agent, 'slow', {}, long)), 'slowly');
    const late = await run(agent, 'slow', {}, { key: 'late' });
    assert.deepEqual([late['status'], late['reason']], ['failed', 'TimedOut']);
    const tasks = await startTasksAgent(t, '2026', 'http', short);
    assert.match(String(textIn(await run(tasks, 'wait', { ms: 900 }, long))), /^waited/);
  },
);

test('a task whose server ends under it is interrupted', limits, async (t) => {
  const upstream = { stdio: [process.execPath, countingServer] };
  const agent = await testServer(t, { env: { PATH: testPath }, mcp: { upstream } });
  const { status, reason } = await run(agent, 'end');
  assert.deepEqual([status, reason], ['failed', 'Interrupted']);
});
