import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentLines } from './current-lines.ts';

const finished = { completed: 3, failed: 0, cancelled: 0 };
const tasks = (pending: number) => ({
  counts: async () => ({ pending, running: 0, inputRequired: 0, finished }),
  get: async () => undefined,
  list: async () => [],
  onChange: () => () => undefined,
});

test('whoever begins to listen hears how a queue in use is, before anything changes there', async () => {
  assert.deepEqual(await currentLines(tasks(2), 0), [
    { type: 'queue', pending: 2, running: 0, inputRequired: 0, ended: [] },
  ]);
});

test('of a queue in which nothing waits or runs nothing is said', async () => {
  assert.deepEqual(await currentLines(tasks(0), 100), []);
});
