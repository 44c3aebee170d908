import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { createTaskMetrics } from '#controllers/agent/task-metrics.ts';
import type { QueueLine } from '#wire/queue-line.ts';
import { createPromMetrics } from './metrics.ts';

const agent = { namespace: 'default', name: 'demo', uid: 'u1' };
const line = (change: Partial<QueueLine>): QueueLine => ({
  ...{ type: 'queue', pending: 0, running: 0, inputRequired: 0, ended: [] },
  ...change,
});

test('depths of all instances are one number, ends are counted, times observed', async () => {
  const registry = new Registry();
  const metrics = createTaskMetrics(createPromMetrics(registry));
  metrics.told({ agent, instance: 'a' }, line({ pending: 3, running: 1 }));
  metrics.told({ agent, instance: 'b' }, line({ pending: 2, ended: [['succeeded', 400, 2_000]] }));
  metrics.told({ agent, instance: 'b' }, line({ pending: 1, ended: [['timed_out', 0, 90_000]] }));
  const text = await registry.metrics();
  const of = (name: string) => text.split('\n').filter((each) => each.startsWith(name));
  const at = 'namespace="default",agent="demo"';
  assert.ok(of('ploinky_tasks{').includes(`ploinky_tasks{${at},state="pending"} 4`), text);
  assert.ok(of('ploinky_tasks{').includes(`ploinky_tasks{${at},state="running"} 1`), text);
  assert.ok(text.includes(`ploinky_tasks_ended_total{${at},outcome="timed_out"} 1`), text);
  assert.ok(text.includes(`ploinky_task_run_seconds_sum{${at}} 92`), text);
  assert.ok(text.includes(`ploinky_task_wait_seconds_bucket{le="0.5",${at}} 2`), text);
});

test('an agent that nobody listens to any more has nothing that waits or runs', async () => {
  const registry = new Registry();
  const metrics = createTaskMetrics(createPromMetrics(registry));
  metrics.told({ agent, instance: 'a' }, line({ pending: 3 }));
  metrics.closed({ agent, instance: 'a' });
  for (const _scrape of [1, 2]) {
    assert.match(await registry.metrics(), /^ploinky_tasks\{.*state="pending"\} 0$/m);
  }
});
