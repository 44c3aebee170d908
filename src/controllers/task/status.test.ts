import assert from 'node:assert/strict';
import { test } from 'node:test';
import { taskSpecSchema } from '#api/task/spec.ts';
import type { Task } from '#api/task.ts';
import { taskStatus } from './controller.ts';

const task: Task = {
  apiVersion: 'ploinky.dev/v1alpha1',
  kind: 'Task',
  metadata: { name: 'build', namespace: 'default', generation: 1 },
  spec: taskSpecSchema.parse({ agentRef: { name: 'demo' }, tool: 'build', input: {} }),
};
const now = new Date('2026-01-01T12:00:00Z');

test('a Task is refused aloud, not ignored', () => {
  const [condition] = taskStatus(task, now).conditions ?? [];
  assert.deepEqual(
    [condition?.type, condition?.status, condition?.reason],
    ['Accepted', 'False', 'NotImplemented'],
  );
});

test('the second look writes nothing', () => {
  const first = taskStatus(task, now);
  assert.deepEqual(
    taskStatus({ ...task, status: first as Task['status'] & object }, new Date(now.getTime() + 1e6)),
    first,
  );
});
