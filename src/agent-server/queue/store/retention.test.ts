import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { defaultLimits, type Operation, type StoredTask, type StoreLimits } from './operations.ts';
import { TaskStore } from './store.ts';

const day = 86_400_000;

interface Made {
  readonly store: TaskStore;
  readonly folder: string;
  /** Adds a task and ends it. */
  finish(number: number, now: number, more?: { key?: string; ttlMs?: number; result?: string }): void;
  names(): number[];
}

function make(t: TestContext, limits: Partial<StoreLimits>): Made {
  const folder = mkdtempSync(join(tmpdir(), 'retention-'));
  const store = new TaskStore(folder, 0, { limits: { ...defaultLimits, ...limits } });
  t.after(() => {
    store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    store,
    folder,
    finish(number, now, { key, ttlMs, result = '{}' } = {}) {
      store.apply([
        addOf(number, now, key, ttlMs),
        { type: 'lease', except: [], now },
        settleOf(number, now, result),
      ]);
    },
    names() {
      const list: Operation = { type: 'list', status: null, owner: null, after: null, limit: 100 };
      return (store.apply([list])[0] as StoredTask[]).map(({ id }) => Number.parseInt(id, 16));
    },
  };
}

const idOf = (number: number) => number.toString(16).padStart(16, '0');

function addOf(number: number, now: number, key?: string, ttlMs?: number): Operation {
  const about = { key: key ?? null, owner: null, tool: 't', payload: '{}', priority: 1 };
  return { type: 'add', id: idOf(number), ...about, timeoutMs: null, ttlMs: ttlMs ?? null, retries: 0, now };
}

function settleOf(number: number, now: number, result: string): Operation {
  const end = {
    status: 'completed',
    reason: null,
    error: null,
    exitCode: 0,
    rpcError: null,
    result,
  } as const;
  const log = { tail: '', sequence: 0, truncated: false };
  return { type: 'settle', id: idOf(number), attempt: 1, log, progress: null, now, ...end };
}

test('a finished task is forgotten after its time', (t) => {
  const { store, finish, names } = make(t, {});
  finish(1, 1000, { ttlMs: 500 });
  finish(2, 1000, { ttlMs: 5000 });
  finish(3, 1000);
  store.apply([{ type: 'sweep', now: 1499 }]);
  assert.deepEqual(names(), [1, 2, 3]);
  store.apply([{ type: 'sweep', now: 1500 }]);
  assert.deepEqual(names(), [2, 3]);
});

test('finished tasks are forgotten after a week, those that are not finished never', (t) => {
  const { store, finish, names } = make(t, {});
  finish(1, 0);
  finish(2, 2 * day, { key: 'k' });
  store.apply([addOf(3, 0)]);
  store.apply([{ type: 'sweep', now: 7 * day + 1 }]);
  assert.deepEqual(names(), [2, 3]);
  store.apply([{ type: 'sweep', now: 9 * day + 1 }]);
  assert.deepEqual(names(), [3]);
});

test('a task with a key makes room for others only after a day', (t) => {
  const { finish, names } = make(t, { maxFinished: 2, graceMs: 0 });
  for (const number of [1, 2, 3, 4]) finish(number, number, { key: `k${number}` });
  for (const number of [5, 6, 7]) finish(number, number);
  assert.deepEqual(names(), [1, 2, 3, 4, 6, 7]);
  finish(8, day + 3, { key: 'k8' });
  assert.deepEqual(names(), [3, 4, 6, 7, 8]);
});

test('finished tasks make room by their bytes, with the files of their results', (t) => {
  const { folder, finish, names } = make(t, { maxFinishedBytes: 250_000 });
  const result = JSON.stringify('x'.repeat(100_000));
  for (const number of [1, 2, 3]) finish(number, number, { result });
  assert.deepEqual(names(), [2, 3]);
  assert.equal(readdirSync(join(folder, 'results')).length, 2);
  finish(4, 4, { result: JSON.stringify('y'.repeat(300_000)) });
  assert.deepEqual(names(), [4], 'the last one stays, whatever its size');
});

test('what has just ended is not forgotten by number, up to twenty times as many', (t) => {
  const { finish, names } = make(t, { maxFinished: 2, graceMs: 1000 });
  for (let number = 1; number <= 10; number++) finish(number, number);
  assert.equal(names().length, 10);
  finish(11, 1005);
  assert.deepEqual(names(), [6, 7, 8, 9, 10, 11]);
  for (let number = 12; number <= 60; number++) finish(number, 1006);
  assert.deepEqual([names().length, names()[0]], [40, 21]);
});

test('a task with a time to live is remembered for it, whatever else ends', (t) => {
  const { store, finish, names } = make(t, { maxFinished: 2, graceMs: 0 });
  finish(1, 0, { ttlMs: 10_000 });
  finish(2, 1, { ttlMs: 10_000 });
  for (const number of [3, 4, 5, 6]) finish(number, 10 * number);
  assert.deepEqual(names(), [1, 2, 5, 6]);
  store.apply([{ type: 'sweep', now: 9000 }]);
  finish(7, 9001);
  assert.deepEqual(names(), [1, 2, 6, 7]);
  store.apply([{ type: 'sweep', now: 10_000 }]);
  assert.deepEqual(names(), [2, 6, 7]);
});

test('by their bytes the oldest go first, with a key or without one', (t) => {
  const { finish, names } = make(t, { maxFinishedBytes: 250_000 });
  const result = JSON.stringify('x'.repeat(100_000));
  finish(1, 1, { key: 'a', result });
  finish(2, 2, { key: 'b', result });
  finish(3, day + 10, { result });
  assert.deepEqual(names(), [2, 3]);
  finish(4, day + 11, { result });
  assert.deepEqual(names(), [3, 4], 'the one with a key is of the day before');
});

test('a task with a key gives up its result for room, and keeps its end', (t) => {
  const { store, folder, finish, names } = make(t, { maxFinishedBytes: 250_000 });
  const result = JSON.stringify('x'.repeat(100_000));
  for (const number of [1, 2, 3, 4]) finish(number, number, { key: `k${number}`, result });
  assert.deepEqual(names(), [1, 2, 3, 4]);
  assert.equal(readdirSync(join(folder, 'results')).length, 2);
  const [first, last] = store.apply([
    { type: 'getByKey', key: 'k1' },
    { type: 'getByKey', key: 'k4' },
  ]) as StoredTask[];
  assert.deepEqual(
    [first?.status, first?.result, first?.error, first?.payload],
    ['completed', null, 'Its result has made room for others', '{}'],
  );
  assert.deepEqual([last?.status, last?.result], ['completed', result]);
  assert.deepEqual(store.apply([addOf(9, 9, 'k1')]), [first], 'it is not run again');
});

test('more bytes than there is room for are refused, what fits is taken', (t) => {
  const { store } = make(t, { maxPendingBytes: 1000 });
  const add = (number: number, bytes: number): Operation => {
    const operation = addOf(number, 0);
    return { ...operation, payload: JSON.stringify('x'.repeat(bytes)) } as Operation;
  };
  assert.deepEqual(store.apply([add(1, 600), add(2, 600), add(3, 300)]), ['added', 'full', 'added']);
  store.apply([{ type: 'lease', except: [], now: 0 }]);
  assert.deepEqual(store.apply([add(4, 600)]), ['added']);
});
