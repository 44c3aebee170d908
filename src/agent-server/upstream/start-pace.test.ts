import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createStartPace } from './start-pace.ts';

const { signal } = new AbortController();

test('only what ends soon after its start keeps the next starts waiting', async () => {
  const clock = createFakeClock();
  const pace = createStartPace(clock);
  for (let start = 0; start < 12; start++) {
    const lost = pace.started();
    await clock.advance(5_000);
    lost('a tool crashed');
  }
  await pace.due(signal);
  for (let start = 0; start < 12; start++) pace.started()('it ended at once');
  await assert.rejects(pace.due(signal), { code: 'UpstreamLost', message: /it ended at once/ });
});
