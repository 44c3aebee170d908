import assert from 'node:assert/strict';
import { lstat, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { readOrEmpty, replaceFile } from './write-file.ts';

const now = Date.UTC(2026, 0, 31, 10, 15);
let folder = '';
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'connect-'));
});
after(() => rm(folder, { recursive: true }));

test('a file that is not there is made, with its folders and without a copy', async () => {
  const path = join(folder, 'a/b/settings.json');
  assert.equal(await readOrEmpty(path), '');
  assert.equal(await replaceFile(path, 'new', now), undefined);
  assert.equal(await readOrEmpty(path), 'new');
  assert.deepEqual(await readdir(join(folder, 'a/b')), ['settings.json']);
});

test('what a file was is kept beside it, and so is its mode', async () => {
  const path = join(folder, 'settings.json');
  await writeFile(path, 'old', { mode: 0o600 });
  const backup = await replaceFile(path, 'new', now);
  assert.equal(backup, `${path}.20260131-101500.bak`);
  assert.equal(await readFile(backup ?? '', 'utf8'), 'old');
  assert.equal(await readFile(path, 'utf8'), 'new');
  for (const each of [path, backup ?? '']) assert.equal((await stat(each)).mode & 0o777, 0o600);
});

test('a link to a file stays one', async () => {
  const target = join(folder, 'real.json');
  const link = join(folder, 'link.json');
  await writeFile(target, 'old');
  await symlink(target, link);
  await replaceFile(link, 'new', now);
  assert.ok((await lstat(link)).isSymbolicLink());
  assert.equal(await readFile(target, 'utf8'), 'new');
});
