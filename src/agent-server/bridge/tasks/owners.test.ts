import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Transport, transports } from '../testing.ts';
import { clientOf, startTasksAgent } from './testing.ts';

const limits = { timeout: 60_000 };
const began = { name: 'wait', arguments: { ms: 60_000 }, task: {} };

async function start(t: TestContext, transport: Transport) {
  const agent = await startTasksAgent(t, '2025', transport, {}, { withoutTokens: false });
  const begin = async (client: ReturnType<typeof clientOf>) => {
    const { task } = (await client('tools/call', began)).result as { task?: { taskId?: string } };
    return String(task?.taskId);
  };
  return { agent, begin };
}

for (const transport of transports) {
  test(
    `over ${transport}, a task is its user's in all sessions, and nobody else's (K2, K3)`,
    limits,
    async (t) => {
      const { agent, begin } = await start(t, transport);
      const [ana, anaElsewhere, ben] = [
        clientOf(agent, 'ana', 's1'),
        clientOf(agent, 'ana', 's2'),
        clientOf(agent, 'ben', 's3'),
      ];
      const taskId = await begin(ana);
      // The server keeps tasks of one session from the others: this one is asked for where it began.
      const elsewhere = await anaElsewhere('tasks/get', { taskId });
      assert.deepEqual([elsewhere.result['taskId'], elsewhere.result['status']], [taskId, 'working']);
      assert.equal((await ben('tasks/get', { taskId })).error.code, -32_602);
      assert.equal((await ben('tasks/cancel', { taskId })).error.code, -32_602);
      assert.equal((await anaElsewhere('tasks/cancel', { taskId })).result['status'], 'cancelled');
    },
  );
}

test('without a user a task is its session’s (K2)', limits, async (t) => {
  const { agent, begin } = await start(t, 'http');
  const [first, second] = [clientOf(agent, '', 's1'), clientOf(agent, '', 's2')];
  const taskId = await begin(first);
  assert.equal((await first('tasks/get', { taskId })).result['taskId'], taskId);
  assert.equal((await second('tasks/get', { taskId })).error.code, -32_602);
});
