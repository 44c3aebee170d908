import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { interrupted } from './import-file.ts';
import { defaultLimits, type Operation, type StoredTask, type StoreLimits } from './operations.ts';
import { TaskStore } from './store.ts';
import { StoreError } from './store-error.ts';

const place = mkdtempSync(join(tmpdir(), 'store-'));
after(() => rmSync(place, { recursive: true, force: true }));
let serial = 0;
const folderOf = () => join(place, `${++serial}`);

const idOf = (number: number) => number.toString(16).padStart(16, '0');
const add = (number: number, more: Partial<Extract<Operation, { type: 'add' }>> = {}): Operation => ({
  type: 'add',
  id: idOf(number),
  key: null,
  tool: 'echo',
  payload: JSON.stringify({ number, text: 'x'.repeat(100) }),
  owner: null,
  priority: 0,
  timeoutMs: null,
  ttlMs: null,
  retries: 0,
  now: number,
  ...more,
});
const settle = (number: number, result: string): Operation => ({
  type: 'settle',
  id: idOf(number),
  attempt: 1,
  status: 'completed',
  ...{ reason: null, error: null, exitCode: 0, rpcError: null, progress: null },
  result,
  log: { tail: 'log', sequence: 1, truncated: false },
  now: 1_000,
});
const lease: Operation = { type: 'lease', except: [], now: 5 };
const list: Operation = { type: 'list', status: null, owner: null, after: null, limit: 100_000 };
const open = (folder: string, limits: Partial<StoreLimits> = {}, now = 0) =>
  new TaskStore(folder, now, { limits: { ...defaultLimits, maxPending: 100_000, ...limits } });
/** Whole, with results. */
const all = (store: TaskStore) => {
  const listed = store.apply([list])[0] as StoredTask[];
  return listed.map(({ id }) => {
    const [task] = store.apply([{ type: 'get', id }]);
    if (task instanceof Error) throw task;
    return task as StoredTask;
  });
};

/** What is on disk while the process that wrote it still has it open: as when it is killed now. */
function copyOf(folder: string): string {
  const copy = folderOf();
  mkdirSync(copy, { recursive: true });
  for (const name of readdirSync(folder)) {
    if (name.startsWith('tasks.sqlite')) copyFileSync(join(folder, name), join(copy, name));
  }
  return copy;
}

describe('the store of the durable queue', () => {
  it('has everything that it acknowledged when its process is killed', () => {
    const folder = folderOf();
    const store = open(folder);
    for (let number = 0; number < 50; number += 5) {
      store.apply([0, 1, 2, 3, 4].map((offset) => add(number + offset)));
      const again = new TaskStore(copyOf(folder), 0);
      assert.deepEqual(
        all(again).map(({ id }) => id),
        Array.from({ length: number + 5 }, (_, index) => idOf(index)),
      );
      again.close();
    }
    store.close();
  });

  it('ends what ran, or lets it run again, as its policy says', () => {
    const folder = folderOf();
    const store = open(folder);
    store.apply([add(1), add(2, { retries: 1 }), add(3)]);
    store.apply([lease, lease]);
    const again = new TaskStore(copyOf(folder), 9);
    const states = all(again).map(({ status, attempt, error }) => [status, attempt, error]);
    assert.deepEqual(states, [
      ['failed', 1, interrupted],
      ['pending', 1, null],
      ['pending', 0, null],
    ]);
    assert.equal((again.apply([lease])[0] as StoredTask).id, idOf(2), 'at its old place');
    again.close();
    store.close();
  });

  it('leases the more urgent first, and else the older', () => {
    const store = open(folderOf());
    store.apply([add(1), add(2, { priority: 1 }), add(3), add(4, { priority: 1 })]);
    const leased = [1, 2, 3, 4].map(() => store.apply([lease])[0] as StoredTask);
    assert.deepEqual(
      leased.map(({ id }) => id),
      [2, 4, 1, 3].map(idOf),
    );
    store.close();
  });

  it('keeps long results in files, and removes them with their tasks', () => {
    const folder = folderOf();
    const store = open(folder);
    const long = JSON.stringify({ text: 'y'.repeat(100_000) });
    store.apply([add(1), add(2), lease, lease, settle(1, long)]);
    assert.equal(all(store)[0]?.result, long);
    assert.equal(readdirSync(join(folder, 'results')).length, 1);
    writeFileSync(join(folder, 'results', 'stray.json'), '{}');
    store.close();
    const again = open(folder, { maxFinished: 1, graceMs: 0 });
    assert.equal(readdirSync(join(folder, 'results')).length, 1, 'strays are gone');
    assert.equal(all(again)[0]?.result, long);
    again.apply([add(3), lease, settle(3, '{}')]);
    assert.deepEqual(readdirSync(join(folder, 'results')), []);
    again.close();
  });

  it('refuses a file that another process has open, one of a later program, and one that is none', () => {
    const folder = folderOf();
    const store = open(folder);
    assert.throws(() => open(folder), { code: 'QueueInUse', remedy: /End the other/ });
    store.close();
    const database = new DatabaseSync(join(folder, 'tasks.sqlite'));
    database.exec('PRAGMA user_version = 99');
    database.close();
    assert.throws(() => new TaskStore(folder, 0), { code: 'QueueDamaged', remedy: /repair-queue/ });
    const later = new DatabaseSync(join(folder, 'tasks.sqlite'));
    later.exec('CREATE TABLE more (a TEXT)');
    later.close();
    assert.throws(() => open(folder), { code: 'SchemaTooNew' });
    const other = folderOf();
    mkdirSync(other);
    writeFileSync(join(other, 'tasks.sqlite'), 'this is no database'.repeat(100));
    assert.throws(() => new TaskStore(other, 0), { code: 'QueueDamaged', remedy: /empty queue/ });
  });

  it('tells a damaged file, and never gives what was not written', { timeout: 300_000 }, (t) => {
    const cases = Number(process.env['PLOINKY_TORN_CASES'] ?? 300);
    const folder = folderOf();
    const store = open(folder);
    for (let number = 0; number < 60; number += 1) store.apply([add(number)]);
    const whole = copyOf(folder);
    store.close();
    const written = new Map(
      Array.from({ length: 60 }, (_, number) => [idOf(number), (add(number) as { payload: string }).payload]),
    );
    const outcomes = { whole: 0, shorter: 0, refused: 0 };
    for (let number = 0; number < cases; number += 1) {
      // Closed: all is in the database itself. Killed: all is in its log.
      const torn = copyOf(number % 4 === 0 ? folder : whole);
      tear(torn, number);
      outcomes[checkTorn(torn, written)] += 1;
      rmSync(torn, { recursive: true });
    }
    t.diagnostic(JSON.stringify(outcomes));
    assert.ok(outcomes.refused > 0 && outcomes.shorter > 0);
  });
});

/** Cuts a file's end off, or turns a bit, as numbered: of the log in its last 4 KiB, of the database anywhere. */
function tear(folder: string, number: number): void {
  const isLog = number % 4 !== 0;
  const file = join(folder, isLog ? 'tasks.sqlite-wal' : 'tasks.sqlite');
  const bytes = readFileSync(file);
  const offset = Math.max(0, bytes.length - 1 - ((number * 7_919) % (isLog ? 4_096 : bytes.length)));
  if (number % 8 < 4) {
    bytes[offset] = (bytes[offset] ?? 0) ^ (1 << (number % 8));
    writeFileSync(file, bytes);
  } else writeFileSync(file, bytes.subarray(0, offset));
}

function checkTorn(folder: string, written: ReadonlyMap<string, string>): 'whole' | 'shorter' | 'refused' {
  let store: TaskStore | undefined;
  try {
    store = open(folder);
    const tasks = all(store);
    tasks.forEach(({ id, payload }, index) => {
      assert.equal(id, idOf(index), 'the first so many, in their order');
      assert.equal(payload, written.get(id));
    });
    return tasks.length === written.size ? 'whole' : 'shorter';
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    assert.ok(['QueueDamaged', 'QueueUnavailable'].includes(error.code) && error.message.length > 10);
    return 'refused';
  } finally {
    store?.close();
  }
}
