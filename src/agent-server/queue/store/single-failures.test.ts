import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Database } from './database.ts';
import { listTasks } from './lists.ts';
import {
  type AddOperation,
  defaultLimits,
  type Operation,
  type StoredChange,
  type StoredTask,
} from './operations.ts';
import { openResultFiles } from './result-files.ts';
import { TaskStore } from './store.ts';
import { Tally } from './tally.ts';
import { TaskTable } from './tasks.ts';

function place(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'failures-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function opened(t: TestContext, folder: string): TaskStore {
  const store = new TaskStore(folder, 0, { limits: { ...defaultLimits, maxPending: 3 } });
  t.after(() => store.close());
  return store;
}

const idOf = (number: number) => number.toString(16).padStart(16, '0');
const lease: Operation = { type: 'lease', except: [], now: 5 };
const get = (number: number): Operation => ({ type: 'get', id: idOf(number) });

function add(number: number, more: { readonly ttlMs?: number } = {}): Operation {
  const about = { key: null, owner: null, tool: 't', payload: '{}', priority: 1, retries: 0 };
  return { type: 'add', id: idOf(number), ...about, timeoutMs: null, ttlMs: null, now: 0, ...more };
}

function settle(number: number, result: string): Operation {
  const end = { status: 'completed', reason: null, error: null, exitCode: 0, rpcError: null } as const;
  const log = { tail: '', sequence: 0, truncated: false };
  return { type: 'settle', id: idOf(number), attempt: 1, log, progress: null, now: 9, ...end, result };
}

const long = JSON.stringify('y'.repeat(100_000));

test('an operation that cannot be done leaves the others of its transaction alone', (t) => {
  const folder = place(t);
  const store = opened(t, folder);
  assert.deepEqual(store.apply([add(1), lease]).length, 2);
  store.takeChanges();
  const [one, twice, ended, more, full] = store.apply([add(2), add(2), settle(1, long), add(3), add(4)]);
  assert.ok(twice instanceof Error);
  assert.deepEqual([one, ended, more], ['added', true, 'added']);
  assert.equal(full, 'added', 'there is room for three');
  assert.deepEqual(
    store.takeChanges().map(({ id, status }) => [id, status]),
    [
      [idOf(2), 'pending'],
      [idOf(1), 'completed'],
      [idOf(3), 'pending'],
      [idOf(4), 'pending'],
    ],
  );
  assert.deepEqual([store.counts.pending, store.counts.completed], [3, 1]);
  assert.equal(readdirSync(join(folder, 'results')).length, 1);
});

test('a number that could not be read any more is refused, and the queue goes on', (t) => {
  const folder = place(t);
  const store = opened(t, folder);
  const [huge, good] = store.apply([add(1, { ttlMs: 1e18 }), add(2)]);
  assert.ok(huge instanceof RangeError);
  assert.equal(good, 'added');
  assert.equal((store.apply([lease])[0] as StoredTask).id, idOf(2));
  assert.equal(store.apply([lease])[0], null);
});

test('a result that is gone fails those who ask for it, and nobody else', (t) => {
  const folder = place(t);
  const store = opened(t, folder);
  store.apply([add(1), lease, settle(1, long)]);
  rmSync(join(folder, 'results'), { recursive: true });
  const [lost, added, list] = store.apply([
    get(1),
    add(2),
    { type: 'list', status: null, owner: null, after: null, limit: 10 },
  ]);
  assert.match(String(lost), /the result of task 0000000000000001 cannot be read/);
  assert.equal((lost as Error & { code: string }).code, 'QueueDamaged');
  assert.equal(added, 'added');
  assert.equal((list as StoredTask[]).length, 2);
});

test('a task that is not what was written has failed, and the next one is leased', (t) => {
  const folder = place(t);
  const database = new Database(join(folder, 'tasks.sqlite'));
  t.after(() => database.close());
  const files = openResultFiles(join(folder, 'results'));
  const changes: StoredChange[] = [];
  const tell = (change: StoredChange) => void changes.push(change);
  const tally = new Tally();
  const tasks = new TaskTable({
    ...{ database, files, tally, tell, limits: defaultLimits },
    onWritten: () => undefined,
  });
  for (const number of [1, 2]) tasks.add(add(number) as AddOperation);
  database.run("UPDATE tasks SET payload = '[]' WHERE id = ?", idOf(1));
  assert.equal(tasks.lease({ type: 'lease', except: [], now: 5 })?.id, idOf(2));
  const [{ status, reason, error } = {} as StoredTask] = listTasks(database, {
    ...{ type: 'list', status: 'failed', owner: null, after: null, limit: 10 },
  });
  assert.deepEqual([status, reason, error], ['failed', 'Failed', `task ${idOf(1)} is not what was written`]);
  assert.deepEqual([tally.counts.failed, tally.counts.running, tally.counts.pending], [1, 1, 0]);
  assert.deepEqual(changes.at(-2)?.status, 'failed');
});

test('so much is answered at once, and the rest is left to be asked again', (t) => {
  const store = opened(t, place(t));
  const huge = JSON.stringify('z'.repeat(5_000_000));
  store.apply([add(1), lease, settle(1, huge)]);
  const answers = store.apply([get(1), get(1), get(1), get(1)]) as StoredTask[];
  assert.deepEqual(
    answers.map(({ result }) => result?.length),
    [huge.length, huge.length],
  );
});
