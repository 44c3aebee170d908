import assert from 'node:assert/strict';
import {
  existsSync,
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
import { describe, it, type TestContext } from 'node:test';
import type { Operation, StoredTask } from '../store/operations.ts';
import { stateSumOf } from '../store/rows.ts';
import { TaskStore } from '../store/store.ts';
import { repairQueue } from './repair.ts';
import { reportText } from './report-text.ts';

const idOf = (number: number) => number.toString(16).padStart(16, '0');
const long = JSON.stringify({ text: 'y'.repeat(100_000) });
const log = { tail: '', sequence: 0, truncated: false };

function addOf(number: number): Operation {
  return {
    type: 'add',
    ...{ id: idOf(number), key: `k${number}`, owner: null, tool: 'echo', priority: 1, retries: 0 },
    ...{
      payload: JSON.stringify({ number, text: 'x'.repeat(500) }),
      timeoutMs: null,
      ttlMs: null,
      now: number,
    },
  };
}

/** A folder with 60 tasks, of which the first has ended with a result in a file. */
function makeQueue(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'repair-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const store = new TaskStore(folder, 0);
  for (let number = 0; number < 60; number += 1) store.apply([addOf(number)]);
  store.apply([
    { type: 'lease', except: [], now: 100 },
    {
      ...{ type: 'settle', id: idOf(0), attempt: 1, status: 'completed', reason: null, error: null },
      ...{ result: long, rpcError: null, exitCode: 0, log, progress: null, now: 101 },
    },
  ]);
  store.close();
  return folder;
}

function tasksOf(folder: string): StoredTask[] {
  const store = new TaskStore(folder, 200);
  const list: Operation = { type: 'list', status: null, owner: null, after: null, limit: 1_000 };
  const [tasks] = store.apply([list]);
  const first = store.apply([{ type: 'get', id: idOf(0) }])[0] as StoredTask | null;
  store.close();
  return [...(first === null ? [] : [first]), ...(tasks as StoredTask[]).filter(({ id }) => id !== idOf(0))];
}

/** Overwrites a page of the database, from 1. */
function spoil(folder: string, page: number): void {
  const path = join(folder, 'tasks.sqlite');
  const bytes = readFileSync(path);
  bytes.fill(0xa5, (page - 1) * 4_096, page * 4_096);
  writeFileSync(path, bytes);
}

describe('the repair of a queue', () => {
  it('takes away a number that cannot be read back, and keeps its task', (t) => {
    const folder = makeQueue(t);
    const database = new DatabaseSync(join(folder, 'tasks.sqlite'));
    database.function(
      'state_sum_of',
      { deterministic: true, varargs: true, useBigIntArguments: true },
      (...values) => stateSumOf(values.map((value) => (typeof value === 'bigint' ? Number(value) : value))),
    );
    database.prepare('UPDATE tasks SET ttl_ms = ? WHERE id = ?').run(1e18, idOf(7));
    database.close();
    assert.throws(() => new TaskStore(folder, 0), { code: 'QueueDamaged', remedy: /repair-queue/ });
    const report = repairQueue(folder, 0);
    assert.deepEqual([report.kept, report.lostIds, report.withoutState], [60, [], []]);
    const found = tasksOf(folder).find(({ id }) => id === idOf(7));
    assert.deepEqual([found?.status, found?.ttlMs, found?.key], ['pending', null, 'k7']);
  });

  it('keeps everything of one that is whole, in its order, and the old files beside it', (t) => {
    const folder = makeQueue(t);
    const before = tasksOf(folder);
    const report = repairQueue(folder, Date.UTC(2030, 0, 2, 3, 4, 5));
    assert.deepEqual([report.kept, report.lostIds, report.unreadable, report.withoutResult], [60, [], 0, []]);
    assert.deepEqual(tasksOf(folder), before);
    assert.equal(tasksOf(folder)[0]?.result, long);
    assert.equal(report.damagedFolder, join(folder, 'damaged-20300102T030405Z'));
    assert.ok(existsSync(join(report.damagedFolder, 'tasks.sqlite')));
    assert.match(reportText(report), /^Kept 60 tasks \(.*59 pending.*\)\.\nNo task is known to be lost\.\n/);
  });

  it('saves what any single damaged page leaves, and names what it does not', (t) => {
    const whole = makeQueue(t);
    const pages = readFileSync(join(whole, 'tasks.sqlite')).length / 4_096;
    const before = tasksOf(whole);
    for (let page = 1; page <= pages; page += 1) {
      const folder = makeQueue(t);
      spoil(folder, page);
      const report = repairQueue(folder, 1_000);
      const after = tasksOf(folder);
      for (const task of after) {
        assert.deepEqual(
          task,
          before.find(({ id }) => id === task.id),
        );
      }
      const missing = before.filter(({ id }) => !after.some((task) => task.id === id)).map(({ id }) => id);
      assert.deepEqual([...report.lostIds].sort(), missing, `page ${page} of ${pages}`);
      assert.ok(missing.length <= 10, `${missing.length} tasks were on page ${page}`);
    }
  });

  it('keeps a task whose result is not what was written, without it', (t) => {
    const folder = makeQueue(t);
    const [name = ''] = readdirSync(join(folder, 'results'));
    writeFileSync(join(folder, 'results', name), long.replace('yyy', 'yxy'));
    const report = repairQueue(folder, 1_000);
    assert.deepEqual([report.kept, report.withoutResult], [60, [idOf(0)]]);
    const [first] = tasksOf(folder);
    assert.deepEqual([first?.status, first?.result], ['completed', null]);
    assert.match(first?.error ?? '', /result was lost/);
    assert.match(reportText(report), /Kept without their results: 0000000000000000\./);
  });

  it('does not take a queue whose file is gone for an empty one', (t) => {
    for (const left of [0, undefined]) {
      const folder = makeQueue(t);
      const path = join(folder, 'tasks.sqlite');
      if (left === undefined) rmSync(path);
      else writeFileSync(path, '');
      assert.throws(() => new TaskStore(folder, 0), { code: 'QueueDamaged', message: /is empty or gone/ });
      assert.equal(repairQueue(folder, 1_000).kept, 0);
      assert.deepEqual(tasksOf(folder), []);
      assert.equal(readdirSync(join(folder, 'damaged-19700101T000001Z', 'results')).length, 1);
    }
  });

  it('is not done to a queue that is open, or that is not there', (t) => {
    const folder = makeQueue(t);
    const store = new TaskStore(folder, 0);
    assert.throws(() => repairQueue(folder, 1_000), { code: 'QueueInUse' });
    store.apply([addOf(100)]);
    store.close();
    const empty = join(folder, 'empty');
    mkdirSync(empty);
    assert.throws(() => repairQueue(empty, 1_000), { code: 'QueueUnavailable', remedy: /\.tasksQueue/ });
  });

  it('goes on where it was ended, and a queue of which the repair is not done is not opened', (t) => {
    const folder = makeQueue(t);
    const before = tasksOf(folder);
    const done = join(folder, 'repaired');
    mkdirSync(join(done, 'results'), { recursive: true });
    for (const name of [
      'tasks.sqlite',
      ...readdirSync(join(folder, 'results')).map((one) => `results/${one}`),
    ]) {
      writeFileSync(join(done, name), readFileSync(join(folder, name)));
    }
    const report = {
      kept: 60,
      keptByStatus: {},
      lostIds: [],
      unreadable: 0,
      withoutResult: [],
      log: 'whole',
    };
    writeFileSync(join(done, 'report.json'), JSON.stringify(report));
    writeFileSync(join(folder, 'tasks.sqlite'), 'spoilt');
    assert.throws(() => new TaskStore(folder, 0), { code: 'QueueDamaged', remedy: /repair-queue/ });
    assert.equal(repairQueue(folder, 1_000).kept, 60);
    assert.deepEqual(tasksOf(folder), before);
    assert.ok(!existsSync(done));
    assert.equal(readFileSync(join(folder, 'damaged-19700101T000001Z', 'tasks.sqlite'), 'utf8'), 'spoilt');
  });
});
