import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Params } from '#mcp/jsonrpc.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { TaskChange, TaskRecord } from '../queue/queue.ts';
import { toNewRecord } from '../queue/task-record.ts';
import { watchTasks } from './watch-tasks.ts';

/** A queue with one task of `ana`, which ends when it is told to; `answer` lets what was read be answered. */
function stand(owner = 'ana') {
  const clock = createFakeClock();
  const told: Params[] = [];
  const listeners = new Set<(change: TaskChange) => void>();
  const about = {
    key: null,
    tool: 'x',
    payload: '{}',
    priority: 1,
    retries: 0,
    timeoutMs: null,
    ttlMs: null,
  };
  let record: TaskRecord = toNewRecord({ id: 'q1', owner: 'ana', now: 0, ...about }, 1, 0);
  const answering: (() => void)[] = [];
  const watching = watchTasks({
    clock,
    pollMs: 50,
    names: new Map([
      ['q1', 'name-1'],
      ['q2', 'name-2'],
    ]),
    owner,
    tell: (task) => told.push(task),
    service: {
      get(id) {
        const then = id === 'q1' ? record : undefined;
        return new Promise((resolve) => answering.push(() => resolve(then)));
      },
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  });
  return {
    clock,
    told,
    watching,
    listeners,
    answer: () => {
      for (const answer of answering.splice(0)) answer();
    },
    end() {
      record = { ...record, status: 'completed', result: { content: [] } };
      const { id, key, toolName, status, attempt, createdAt, startedAt, finishedAt, reason, progress } =
        record;
      const times = { createdAt, startedAt, finishedAt };
      for (const listener of listeners)
        listener({ id, key, owner: 'ana', toolName, status, attempt, ...times, reason, progress });
    },
  };
}

test('an end while the tasks are being read is told, once', async () => {
  const { clock, told, watching, answer, end, listeners } = stand();
  end();
  answer();
  const { ids, end: stop } = await watching;
  answer();
  await clock.advance(1_000);
  assert.deepEqual(ids, ['name-1']);
  assert.deepEqual(
    told.map(({ taskId, status }) => [taskId, status]),
    [['name-1', 'completed']],
  );
  stop();
  assert.deepEqual([listeners.size, clock.pending], [0, 0]);
});

test('of one that has ended before it is told that', async () => {
  const { told, watching, answer } = stand();
  answer();
  await watching;
  assert.deepEqual(told, []);
  const late = stand();
  late.end();
  late.answer();
  late.answer();
  await late.watching;
  assert.equal(late.told.length, 1);
});

test('what is not the owner’s is neither granted nor told', async () => {
  const { clock, told, watching, answer, end } = stand('ben');
  end();
  answer();
  assert.deepEqual((await watching).ids, []);
  await clock.advance(1_000);
  answer();
  await clock.advance(1_000);
  assert.deepEqual(told, []);
});
