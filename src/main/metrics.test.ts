import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { createPromMetrics } from './metrics.ts';

test('two controllers count in one metric, told apart by its labels', async () => {
  const registry = new Registry();
  const metrics = createPromMetrics(registry);
  const definition = { name: 'workqueue_adds_total', help: 'Adds.', labelNames: ['name'] };
  metrics.counter(definition).inc({ name: 'agent' });
  metrics.counter(definition).inc({ name: 'route' }, 2);
  const text = await registry.metrics();
  assert.match(text, /workqueue_adds_total\{name="agent"\} 1/);
  assert.match(text, /workqueue_adds_total\{name="route"\} 2/);
});

test('a gauge asks everybody who gave it a value at each scrape', async () => {
  const registry = new Registry();
  const metrics = createPromMetrics(registry);
  for (const name of ['agent', 'route']) {
    metrics.gauge({
      name: 'workqueue_depth',
      help: 'Depth.',
      labelNames: ['name'],
      collect: (gauge) => gauge.set({ name }, name.length),
    });
  }
  const text = await registry.metrics();
  assert.match(text, /workqueue_depth\{name="agent"\} 5/);
  assert.match(text, /workqueue_depth\{name="route"\} 5/);
});
