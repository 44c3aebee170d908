import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { paceReports } from './paced-reports.ts';

function stand() {
  const clock = createFakeClock();
  const begun: string[] = [];
  let running = 0;
  let most = 0;
  const reports = paceReports(clock, async (id) => {
    begun.push(id);
    running += 1;
    most = Math.max(most, running);
    await clock.sleep(10);
    running -= 1;
  });
  return { clock, begun, reports, most: () => most };
}

test('much progress is reported ten times a second, one report at a time, and its last word is', async () => {
  const { clock, begun, reports, most } = stand();
  for (let ms = 0; ms < 1_000; ms += 1) {
    for (let line = 0; line < 10; line += 1) reports.changed({ id: 'a', status: 'running' });
    await clock.advance(1);
  }
  assert.ok(begun.length >= 9 && begun.length <= 11, `${begun.length}`);
  const before = begun.length;
  await clock.advance(1_000);
  assert.deepEqual([begun.length, most()], [before + 1, 1]);
  assert.equal(clock.pending, 0);
});

test('another state is reported at once, also after one that is being reported', async () => {
  const { clock, begun, reports } = stand();
  reports.changed({ id: 'a', status: 'running' });
  await clock.advance(50);
  reports.changed({ id: 'a', status: 'input_required' });
  await clock.advance(5);
  assert.equal(begun.length, 2);
  reports.changed({ id: 'a', status: 'completed' });
  await clock.advance(6);
  assert.equal(begun.length, 3);
  await clock.advance(1_000);
  assert.equal(begun.length, 3);
});

test('tasks do not wait for each other, and what fails is left to the next change', async () => {
  const clock = createFakeClock();
  const begun: string[] = [];
  const reports = paceReports(clock, async (id) => {
    begun.push(id);
    throw new Error('no');
  });
  for (const id of ['a', 'b', 'a']) reports.changed({ id, status: 'running' });
  assert.deepEqual(begun, ['a', 'b']);
  await clock.advance(100);
  assert.deepEqual(begun, ['a', 'b', 'a']);
});

test('after the end nothing is reported', async () => {
  const { clock, begun, reports } = stand();
  reports.changed({ id: 'a', status: 'running' });
  reports.changed({ id: 'a', status: 'completed' });
  reports.close();
  reports.changed({ id: 'b', status: 'completed' });
  await clock.advance(1_000);
  assert.deepEqual([begun, clock.pending], [['a'], 0]);
});
