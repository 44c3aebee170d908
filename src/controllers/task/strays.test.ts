import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '#api/task.ts';
import { silentLog } from '#kit/log.ts';
import { createCache } from '#kube/cache.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { createAttempts } from './attempts.ts';
import { taskIndexes } from './indexes.ts';
import { createStrays } from './strays.ts';
import { makeLine, makeTask } from './testing.ts';

const place = {
  agent: { namespace: 'default', name: 'demo', uid: 'u' },
  instance: 'i',
  address: 'unix:/i',
  keys: [],
};

function onStage(there: readonly Task[]) {
  const clock = createFakeClock();
  const tasks = createCache<Task>({ indexes: taskIndexes });
  const attempts = createAttempts(clock, tasks);
  attempts.opened(place);
  const list = tasks.replace();
  list.page(structuredClone(there), '1');
  list.finish();
  const ended: string[] = [];
  const agentServer = { isReached: true };
  const strays = createStrays({
    ...{ tasks, attempts, clock, log: silentLog },
    async end(key) {
      ended.push(key);
      if (agentServer.isReached) attempts.told(place, makeLine({ key, status: 'cancelled' }));
      return agentServer.isReached;
    },
  });
  return { clock, attempts, tasks, strays, ended, agentServer };
}

test('a Task that goes takes its attempt along', () => {
  const { attempts, strays, ended } = onStage([]);
  attempts.told(place, makeLine());
  strays.gone('uid-build');
  assert.deepEqual(ended, ['uid-build/1']);
});

test('an attempt that is told of after its Task went is ended at once', () => {
  const { attempts, strays, ended } = onStage([]);
  strays.gone('uid-build');
  attempts.told(place, makeLine());
  strays.told('uid-build/1');
  assert.deepEqual(ended, ['uid-build/1']);
});

test('one whose Task nobody has seen is ended after a while, unless the Task comes', async () => {
  const { clock, attempts, tasks, strays, ended } = onStage([]);
  for (const uid of ['uid-old', 'uid-new']) {
    attempts.told(place, makeLine({ key: `${uid}/1` }));
    strays.told(`${uid}/1`);
  }
  tasks.upsert(makeTask({}, { name: 'new', uid: 'uid-new', resourceVersion: '9' }));
  assert.deepEqual(ended, []);
  await clock.advance(10_000);
  assert.deepEqual(ended, ['uid-old/1']);
});

test('a Task that was only made again under its name keeps its attempt', () => {
  const { attempts, strays, ended } = onStage([makeTask()]);
  attempts.told(place, makeLine());
  strays.gone('uid-build');
  assert.deepEqual(ended, []);
});

test('an attempt whose agent-server is not reached is ended when it is', async () => {
  const { clock, attempts, strays, ended, agentServer } = onStage([]);
  attempts.told(place, makeLine());
  agentServer.isReached = false;
  strays.gone('uid-build');
  await clock.advance(2_900);
  assert.equal(ended.length, 2);
  agentServer.isReached = true;
  await clock.advance(60_000);
  assert.equal(ended.length, 3);
  assert.deepEqual([attempts.unended('uid-build'), clock.pending], [[], 0]);
});

test('where nobody is listened to any more nothing is tried again', async () => {
  const { clock, attempts, strays, ended, agentServer } = onStage([]);
  attempts.told(place, makeLine());
  agentServer.isReached = false;
  strays.gone('uid-build');
  attempts.closed(place);
  await clock.advance(60_000);
  assert.deepEqual([ended.length, attempts.unended('uid-build'), clock.pending], [1, [], 0]);
});
