import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { silentLog } from '#kit/log.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import type { TaskLine } from '#wire/task-line.ts';
import type { TaskChange } from '../queue/queue.ts';
import { toNewRecord } from '../queue/task-record.ts';
import { tellTaskChanges } from './task-lines.ts';

/** A queue whose next reads fail. */
function stand(t: TestContext) {
  const clock = createFakeClock();
  const lines: TaskLine[] = [];
  const listeners = new Set<(change: TaskChange) => void>();
  const state = { failures: 0, reads: 0 };
  const stop = tellTaskChanges({
    clock,
    log: silentLog,
    send: (line) => lines.push(line),
    tasks: {
      async get(id) {
        state.reads += 1;
        if (state.failures-- > 0) throw new Error('the disk does not answer');
        const about = { key: `key/${id}`, owner: null, tool: 'x', payload: '{}', priority: 1, retries: 0 };
        const record = toNewRecord({ id, ...about, timeoutMs: null, ttlMs: null, now: 0 }, 1, 0);
        return { ...record, status: 'completed', exitCode: 0, result: { content: [] } };
      },
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  });
  t.after(stop);
  const change = (id: string, status: TaskChange['status'], key: string | null = `key/${id}`) => {
    const about = { id, key, owner: null, toolName: 'x', attempt: 1, progress: null, reason: null };
    const times = { createdAt: 'then', startedAt: 'now', finishedAt: null };
    for (const listener of listeners) listener({ ...about, ...times, status });
  };
  return { clock, lines, state, stop, change };
}

test('an end that cannot be read is told once it can', async (t) => {
  const { clock, lines, state, change } = stand(t);
  state.failures = 3;
  change('a', 'completed');
  await clock.advance(1_000);
  await clock.advance(2_000);
  assert.deepEqual(lines, []);
  await clock.advance(4_000);
  assert.deepEqual(
    lines.map(({ key, status, exitCode, result }) => [key, status, exitCode, result]),
    [['key/a', 'completed', 0, { content: [] }]],
  );
  await clock.advance(600_000);
  assert.deepEqual([lines.length, state.reads], [1, 4]);
});

test('what has not ended is told without reading it, each state once, and only of the controller’s', async (t) => {
  const { clock, lines, state, change } = stand(t);
  for (const status of ['pending', 'running', 'running', 'running', 'pending'] as const) change('a', status);
  change('b', 'running', null);
  await clock.advance(1);
  assert.deepEqual(
    lines.map(({ id, status, startedAt }) => [id, status, startedAt]),
    [
      ['a', 'pending', 'now'],
      ['a', 'running', 'now'],
      ['a', 'pending', 'now'],
    ],
  );
  assert.equal(state.reads, 0);
});

test('after the stop nothing is read again', async (t) => {
  const { clock, lines, state, stop, change } = stand(t);
  state.failures = 1;
  change('a', 'completed');
  await clock.advance(1);
  stop();
  await clock.advance(600_000);
  assert.deepEqual([lines, state.reads, clock.pending], [[], 1, 0]);
});
