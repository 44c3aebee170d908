import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Params } from '#mcp/jsonrpc.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { TaskRecord } from '../queue/queue.ts';
import { toNewRecord } from '../queue/task-record.ts';
import type { CallContext } from '../source.ts';
import { createMcpTasks } from './mcp-tasks.ts';
import type { TaskService } from './service.ts';

/** As a list has it: of its payload only the instance, and that of a task with an id of MCP. */
function listedRecord(id: string, instance?: string): TaskRecord {
  const payload = JSON.stringify(instance === undefined ? {} : { instance });
  const about = { key: null, owner: 'ana', tool: 'x', payload, priority: 1, retries: 0, now: 0 };
  return toNewRecord({ id, ...about, timeoutMs: null, ttlMs: null }, 1, 0);
}

test('a list of tasks reads no record, and tells no id of the contract', async () => {
  const clock = createFakeClock();
  const service: Partial<TaskService> = {
    list: async () => [listedRecord('q1', 'earlier'), listedRecord('q2'), listedRecord('q3', 'own')],
    get: () => assert.fail('a record is read'),
    onChange: () => () => undefined,
  };
  const tasks = createMcpTasks({
    service: service as TaskService,
    clock,
    keys: () => [{ kid: 'k', secret: Buffer.alloc(32, 1) }],
    instance: 'own',
    slot: 0,
    pollMs: 50,
    rounds: { clock, answerMs: 1, maxRounds: 1, mintId: () => 'id' },
    tellSession: () => undefined,
  });
  const context: Partial<CallContext> = { era: 'sessions', session: 's', claims: undefined };
  const { tasks: listed } = await tasks.request('tasks/list', {}, context as CallContext);
  assert.deepEqual(
    (listed as Params[]).map(({ taskId }) => String(taskId).replace(/\.[\w-]{22}\./, '.*.')),
    ['earlier.durable-0.*.q1', 'own.durable-0.*.q3'],
  );
});
