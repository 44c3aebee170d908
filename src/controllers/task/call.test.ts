import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Task } from '#api/task.ts';
import { silentLog } from '#kit/log.ts';
import { createCache } from '#kube/cache.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { TaskAnswer, TaskLink } from '#wire/tasks.ts';
import { createAttempts } from './attempts.ts';
import { createCaller } from './call.ts';
import { taskIndexes } from './indexes.ts';
import { makeLine, makeTask } from './testing.ts';

const key = 'uid-build/1';
const held: Task = {
  ...makeTask(),
  status: { phase: 'Running', attempts: 1, agent: 'demo', instance: 'i', taskId: 't1' },
};
const place = {
  agent: { namespace: 'default', name: 'demo', uid: 'u' },
  instance: 'i',
  address: 'unix:/i',
  keys: [],
};

/** An agent-server that answers cancellations with these, one after the other. */
function onStage(answers: readonly (TaskAnswer | Error)[], task = held) {
  const tasks = createCache<Task>({ indexes: taskIndexes });
  tasks.upsert(structuredClone(task));
  const attempts = createAttempts(createFakeClock(), tasks);
  const left = [...answers];
  const link: TaskLink = {
    submit: () => assert.fail('nothing is given'),
    async cancel() {
      const answer = left.shift() ?? assert.fail('nobody is asked again');
      if (answer instanceof Error) throw answer;
      return answer;
    },
    close: () => undefined,
  };
  const links = { to: () => link, close: () => undefined };
  attempts.opened(place);
  attempts.told(place, makeLine());
  return { attempts, caller: createCaller({ attempts, links, log: silentLog }) };
}

const end = [{ type: 'end' as const, keys: [key] }];

test('an end that was not heard is tried again, and what keeps it is known', async () => {
  for (const answer of [new Error('connection refused'), { kind: 'busy', message: 'closing' }] as const) {
    const { attempts, caller } = onStage([
      answer,
      { kind: 'taken', task: makeLine({ status: 'cancelled' }) },
    ]);
    assert.equal(await caller.carryOut(held, end), 0);
    assert.match(attempts.trouble(key)?.message ?? '', /connection refused|closing/);
    assert.equal(await caller.carryOut(held, end), undefined);
    assert.deepEqual([attempts.trouble(key), attempts.line(key)?.line.status], [undefined, 'cancelled']);
  }
});

test('an end of what is no longer the present attempt is tried again after a while', async () => {
  const ended: Task = { ...held, status: { ...held.status, phase: 'Failed' } };
  const { caller } = onStage([new Error('connection refused')], ended);
  assert.equal(await caller.carryOut(ended, end), 5_000);
});

test('another instance that says it has the attempt, and is not reached, is not asked at once again', async () => {
  const { attempts, caller } = onStage([
    new Error('connection refused'),
    { kind: 'taken', task: makeLine() },
  ]);
  const other = { ...place, instance: 'other', agent: { ...place.agent, name: 'other' } };
  attempts.opened(other);
  attempts.told(other, makeLine());
  assert.deepEqual(attempts.holders(key), [other, place]);
  assert.equal(await caller.carryOut(held, end), 5_000);
});

test('what an instance knows nothing of does not go on there', async () => {
  const { attempts, caller } = onStage([{ kind: 'unknown' }]);
  assert.equal(await caller.end(key), true);
  assert.deepEqual([attempts.unended('uid-build'), attempts.line(key)], [[], undefined]);
  assert.equal(attempts.isUnknownAt(key, 'i'), true);
});
