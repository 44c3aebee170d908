import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { withFileLock } from './file-lock.ts';

const gone = JSON.stringify({ pid: 2 ** 22 + 1, url: '', startedAt: 0 });

function lockPath(t: TestContext): { readonly folder: string; readonly path: string } {
  const folder = mkdtempSync(join(tmpdir(), 'lock-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return { folder, path: join(folder, 'lock') };
}

test('of many that find what a killed holder left, one is inside at a time', async (t) => {
  const { folder, path } = lockPath(t);
  let [inside, most] = [0, 0];
  const enter = async () => {
    inside += 1;
    most = Math.max(most, inside);
    await sleep(1);
    inside -= 1;
  };
  for (let round = 0; round < 5; round += 1) {
    writeFileSync(path, gone);
    await Promise.all(Array.from({ length: 8 }, () => withFileLock(path, enter)));
  }
  assert.equal(most, 1);
  assert.deepEqual(readdirSync(folder), []);
});

test('whoever lets go removes the lock that is his own, and nobody else’s', async (t) => {
  const { path } = lockPath(t);
  await withFileLock(path, async () => writeFileSync(path, gone));
  assert.equal(readFileSync(path, 'utf8'), gone);
  await withFileLock(path, async () => undefined);
  assert.ok(!existsSync(path), 'control: its own');
});
