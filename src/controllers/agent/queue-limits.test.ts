import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queueLimits } from './queue-limits.ts';
import { makeAgent } from './testing.ts';

const limitsOf = (spec: object) => queueLimits(makeAgent(spec).spec);

test('an Agent that says nothing of its queue sets none of its limits', () => {
  assert.deepEqual(limitsOf({}), {});
  assert.deepEqual(limitsOf({ tasks: {} }), {});
});

test('limits of the queue come in the units of the agent-server', () => {
  const limits = { maxQueued: 5, retentionSeconds: 60, answerSeconds: 2, maxAsking: 0, logBytes: 10 };
  assert.deepEqual(limitsOf({ tasks: { limits } }), {
    ...{ maxQueuedCalls: 5, taskRetentionMs: 60_000, taskAnswerMs: 2_000, maxParkedCalls: 0 },
    taskLogTailBytes: 10,
  });
});

test('tasks of clients are told of only where that is asked for', () => {
  assert.deepEqual(limitsOf({ tasks: { track: 'Never', maxTracked: 7 } }), {});
  assert.deepEqual(limitsOf({ tasks: { track: 'Always', maxTracked: 7 } }), { maxTrackedTasks: 7 });
});
