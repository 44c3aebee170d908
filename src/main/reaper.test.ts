import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { findReaper } from './reaper.ts';

const skip = process.platform === 'linux' ? false : 'the reaper is for Linux';

test('a checkout that was never built is told from one that was built without the reaper', {
  skip,
}, async (t) => {
  const checkout = await mkdtemp(join(tmpdir(), 'reaper-'));
  t.after(() => rm(checkout, { recursive: true }));
  const main = join(checkout, 'src', 'main');
  const isUnbuilt = () => {
    const found = findReaper(main);
    return 'missing' in found ? found.isUnbuilt : 'found';
  };
  assert.equal(isUnbuilt(), true);
  await mkdir(join(checkout, 'dist'));
  await writeFile(join(checkout, 'dist', 'agent-server.mjs'), '');
  assert.equal(isUnbuilt(), undefined);
});
