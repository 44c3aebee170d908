import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemRandom } from '#kit/random.ts';
import { bindMessage } from '#wire/binding.ts';
import type { McpContext } from '#wire/claims.ts';
import { mintInvocation } from '#wire/token.ts';
import type { TestServer } from '../../testing/harness.ts';
import { type Transport, transports } from '../testing.ts';
import { canAll, startTasksAgent, takesTasks } from './testing.ts';

const limits = { timeout: 60_000 };
const key = { kid: 'test', secret: Buffer.alloc(32, 7) };
let ids = 0;

/** A client of a router: a user, and a session of 2025-11-25 or none. */
function clientOf(agent: TestServer, sub: string, session?: string) {
  const mcp: McpContext =
    session === undefined
      ? { revision: '2026-07-28', capabilities: takesTasks }
      : { revision: '2025-11-25', session, capabilities: canAll };
  const user = sub === '' ? null : { sub, id: sub, email: '', username: sub, roles: [] };
  return async (method: string, params: Record<string, unknown> = {}) => {
    ids += 1;
    const message = { jsonrpc: '2.0', id: ids, method, params };
    const token = mintInvocation(key, {
      agent: { namespace: 'default', name: 'demo', uid: 'uid-1' },
      ...{ instance: 'instance-1', caller: 'router:first-party', user, hop: 0 },
      ...{ call: bindMessage(message), now: Date.now(), random: systemRandom, mcp },
    });
    return (await agent.post(message, { authorization: `Bearer ${token}` })).json;
  };
}

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
