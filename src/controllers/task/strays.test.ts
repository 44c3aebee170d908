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
  const attempts = createAttempts(clock);
  const tasks = createCache<Task>({ indexes: taskIndexes });
  const list = tasks.replace();
  list.page(structuredClone(there), '1');
  list.finish();
  const ended: string[] = [];
  const strays = createStrays({
    ...{ tasks, attempts, clock, log: silentLog },
    async end(key) {
      ended.push(key);
      attempts.told(place, makeLine({ key, status: 'cancelled' }));
    },
  });
  return { clock, attempts, tasks, strays, ended };
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
