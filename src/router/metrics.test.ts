import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { createDurations } from './durations.ts';
import { startTestRouter } from './testing/harness.ts';
import { openSession, post, request } from './testing/mcp-client.ts';

const seconds = [0, 0.0004, 0.001, 0.0011, 0.3, 0.3, 299, 300, 301];

test('durations are written as prom-client writes its own histograms', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const about = { name: 'took_seconds', help: 'Time.' };
  const durations = createDurations({ ...about, label: 'surface' });
  durations.register(ours);
  const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
  const histogram = new Histogram({ ...about, labelNames: ['surface'], buckets, registers: [theirs] });
  assert.equal(await ours.metrics(), await theirs.metrics());
  for (const surface of ['mcp', 'api']) {
    for (const value of seconds) {
      durations.observe(surface, value);
      histogram.observe({ surface }, value);
    }
  }
  assert.equal(await ours.metrics(), await theirs.metrics());
});

test('every request is counted once, by surface, method and status', { timeout: 30_000 }, async (t) => {
  const router = await startTestRouter(t, [{ name: 'demo' }]);
  const headers = await openSession(router);
  for (let id = 1; id <= 3; id += 1) {
    await post(router, request('tools/call', { name: 'echo', arguments: { text: 'x' } }, id), { headers });
  }
  await post(router, undefined, { method: 'GET', path: '/nowhere' });
  await post(router, request('ping'), { path: '/mcps/demo/mcp', method: 'PUT' });
  const { text } = await post(router, undefined, { method: 'GET', path: '/metrics' });
  const lines = text.split('\n');
  const of = (labels: string) =>
    lines.find((line) => line.startsWith(`ploinky_router_requests_total{${labels}}`));
  assert.match(of('surface="mcp",method="POST",status="200"') ?? '', / 4$/);
  assert.match(of('surface="none",method="GET",status="404"') ?? '', / 1$/);
  assert.match(of('surface="none",method="PUT",status="404"') ?? '', / 1$/);
  assert.ok(lines.includes('ploinky_router_request_duration_seconds_count{surface="mcp"} 4'), text);
});
