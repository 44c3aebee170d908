import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from '#kit/clock.ts';
import { type HolderOperation, toOperation } from './outcome-operation.ts';
import { RunningTasks } from './running-tasks.ts';
import { StoreError } from './store/store-error.ts';
import { toNewRecord } from './task-record.ts';

const full = new StoreError('QueueUnavailable', 'the disk is full');
const settle = toOperation({ status: 'completed', result: { content: [] } }, false);
const interrupt = { type: 'interrupt', error: 'interrupted' } as const;

interface Made {
  readonly tasks: RunningTasks;
  readonly recorded: HolderOperation[];
  /** Lets what waits for its next try go on; resolves to how many did. */
  pass(): Promise<number>;
}

/** Recording fails so many times before it succeeds. */
function make(failures: number): Made {
  let left = failures;
  let waiting: (() => void)[] = [];
  const recorded: HolderOperation[] = [];
  const clock: Clock = {
    ...systemClock,
    sleep: (_ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) reject(signal.reason);
        waiting.push(resolve);
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  };
  const tasks = new RunningTasks({
    clock,
    logTailBytes: () => 100,
    async record(operation) {
      if (left-- > 0) throw full;
      recorded.push(operation);
      return true;
    },
  });
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  return {
    tasks,
    recorded,
    async pass() {
      await turn();
      const passed = waiting;
      waiting = [];
      for (const go of passed) go();
      await turn();
      return passed.length;
    },
  };
}

function held(tasks: RunningTasks) {
  const about = { key: null, owner: null, tool: 't', payload: '{}', priority: 1, retries: 0 };
  const task = { id: '0'.repeat(16), ...about, timeoutMs: null, ttlMs: null, now: 0 };
  return tasks.hold(toNewRecord(task, 1, 0));
}

test('an outcome that cannot be recorded is held and tried again until it is', async () => {
  const { tasks, recorded, pass } = make(3);
  const lease = held(tasks);
  let settled: boolean | undefined;
  void tasks.record(lease, settle).then((said) => {
    settled = said;
  });
  for (let count = 0; count < 3; count++) {
    assert.equal(settled, undefined);
    assert.deepEqual(tasks.ids(), [lease.task.id], 'it is still held');
    assert.equal(await pass(), 1);
  }
  assert.deepEqual([settled, recorded.length, tasks.ids()], [true, 1, []]);
});

test('whoever else decides meanwhile is too late', async () => {
  const { tasks, recorded, pass } = make(1);
  const lease = held(tasks);
  const first = tasks.record(lease, settle);
  assert.equal(await tasks.record(lease, interrupt), false);
  await pass();
  assert.equal(await first, true);
  assert.deepEqual(
    recorded.map(({ type }) => type),
    ['settle'],
  );
});

test('what is ended is interrupted when its holder has said that nothing of it runs', async () => {
  const { tasks, recorded } = make(0);
  const lease = held(tasks);
  let ended = false;
  const ending = tasks.end().then(() => {
    ended = true;
  });
  assert.equal(lease.signal.aborted, true);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([ended, recorded, tasks.ids()], [false, [], [lease.task.id]]);
  tasks.append(lease, Buffer.from('its last words'));
  assert.equal(await tasks.record(lease, settle), false);
  await ending;
  await tasks.close(interrupt);
  assert.deepEqual(
    recorded.map(({ type, log }) => [type, log.tail]),
    [['interrupt', 'its last words']],
  );
  assert.deepEqual(tasks.ids(), []);
});

test('what has ended already is recorded although the end has begun', async () => {
  const { tasks, recorded, pass } = make(1);
  const recording = tasks.record(held(tasks), settle);
  await tasks.end();
  await pass();
  assert.equal(await recording, true);
  await tasks.close(interrupt);
  assert.deepEqual(
    recorded.map(({ type }) => type),
    ['settle'],
  );
});

test('at the end what could not be recorded is tried once more, and then given up', async () => {
  const succeeds = make(1);
  const first = succeeds.tasks.record(held(succeeds.tasks), settle);
  await succeeds.tasks.close(interrupt);
  assert.equal(await first, true);
  const fails = make(5);
  const lease = held(fails.tasks);
  const second = fails.tasks.record(lease, settle);
  await Promise.all([assert.rejects(second, full), fails.tasks.close(interrupt)]);
  assert.equal(lease.signal.aborted, true);
});
