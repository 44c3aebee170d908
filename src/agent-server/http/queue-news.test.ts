import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';
import { mostEnded, type QueueLine, readQueueLine } from '#wire/queue-line.ts';
import type { TaskChange } from '../queue/queue.ts';
import { tellQueueNews } from './queue-news.ts';

/** Times of a task in milliseconds after the clock's start. */
type Times = { readonly created: number; readonly started?: number; readonly finished: number };

function stand(t: { after(fn: () => void): void }) {
  const clock = createFakeClock();
  const zero = clock.now();
  const lines: QueueLine[] = [];
  const listeners = new Set<(change: TaskChange) => void>();
  const stop = tellQueueNews({
    clock,
    send: (line) => lines.push(line),
    tasks: {
      counts: async () => ({
        pending: 1,
        running: 2,
        inputRequired: 3,
        finished: { completed: 0, failed: 0, cancelled: 0 },
      }),
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  });
  t.after(stop);
  const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(zero + ms).toISOString());
  return {
    clock,
    lines,
    stop,
    change(id: string, status: TaskChange['status'], times?: Times, reason: TaskChange['reason'] = null) {
      const { created = 0, started, finished } = times ?? {};
      const change: TaskChange = {
        ...{ id, key: null, owner: null, toolName: 'x', status, attempt: 1, progress: null, reason },
        createdAt: new Date(zero + created).toISOString(),
        startedAt: iso(started),
        finishedAt: iso(finished),
      };
      for (const listener of listeners) listener(change);
    },
  };
}

test('nothing is told while nothing changes, and changes are told together after a while', async (t) => {
  const { clock, lines, change } = stand(t);
  await clock.advance(60_000);
  assert.deepEqual(lines, []);
  change('a', 'running');
  change('b', 'completed', { created: 0, started: 1_500, finished: 4_000 });
  change('c', 'failed', { created: 0, started: 0, finished: 9_000 }, 'TimedOut');
  change('d', 'cancelled', { created: 100, finished: 700 });
  await clock.advance(4_999);
  assert.deepEqual(lines, []);
  await clock.advance(1);
  const ended = [
    ['succeeded', 1_500, 2_500],
    ['timed_out', 0, 9_000],
    ['cancelled', 600, 0],
  ];
  assert.deepEqual(lines, [{ type: 'queue', pending: 1, running: 2, inputRequired: 3, ended }]);
  assert.deepEqual(readQueueLine(JSON.parse(JSON.stringify(lines[0]))), lines[0]);
});

test('an end is told once', async (t) => {
  const { clock, lines, change } = stand(t);
  change('b', 'completed', { created: 0, started: 0, finished: 1 });
  await clock.advance(5_000);
  change('x', 'pending');
  await clock.advance(5_000);
  assert.deepEqual(
    lines.map(({ ended }) => ended.length),
    [1, 0],
  );
});

test('a line tells of so many ends at most', async (t) => {
  const { clock, lines, change } = stand(t);
  for (let count = 0; count < 5_000; count += 1)
    change(`${count}`, 'completed', { created: 0, started: 0, finished: 1 });
  await clock.advance(5_000);
  assert.equal(lines[0]?.ended.length, mostEnded);
});

test('after the stop nothing is told', async (t) => {
  const { clock, lines, change, stop } = stand(t);
  change('a', 'running');
  stop();
  change('a', 'running');
  await clock.advance(60_000);
  assert.deepEqual(lines, []);
});

test('what comes as a line is read whatever it is', () => {
  const odd = readQueueLine({ pending: 'x', running: -1, ended: [['succeeded'], ['no', 1, 2], 'y', null] });
  assert.deepEqual(odd, {
    type: 'queue',
    pending: 0,
    running: 0,
    inputRequired: 0,
    ended: [['succeeded', 0, 0]],
  });
});
