import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takesTasks, taskIn, untilStatus } from '../bridge/tasks/testing.ts';
import { statelessClient } from '../bridge/testing.ts';
import { startTasks } from './testing.ts';

test('a task whose questions nobody answers is cancelled after a while', { timeout: 60_000 }, async (t) => {
  const client = statelessClient(await startTasks(t, { taskAnswerMs: 1000 }), {
    ...takesTasks,
    elicitation: {},
  });
  const taskId = taskIn(await client.call('meet').next());
  await untilStatus(client, taskId, 'input_required');
  const { result } = await client.request('tasks/get', { taskId }).next();
  assert.equal(result?.['status'], 'input_required');
  await untilStatus(client, taskId, 'cancelled');
});
