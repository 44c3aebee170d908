import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { archivesProblem } from '../cluster/load.ts';
import { removeOldArchives } from './old-archives.ts';

test('the archives of an image that were asked for last stay, and other images keep theirs', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'archives-'));
  t.after(() => rm(folder, { recursive: true }));
  for (const [index, id] of ['f', 'e', 'd', 'c', 'b', 'a'].entries()) {
    const file = join(folder, `agent-${id}.tar`);
    await writeFile(file, '');
    await utimes(file, index, index);
  }
  await writeFile(join(folder, 'musl-a.tar'), '');
  await removeOldArchives(folder, 'agent');
  assert.deepEqual((await readdir(folder)).sort(), [
    ...['agent-a.tar', 'agent-b.tar', 'agent-c.tar', 'agent-d.tar'],
    'musl-a.tar',
  ]);
});

test('what cannot be loaded is told in one line that says how to get it', () => {
  assert.match(
    archivesProblem(['/no/such.tar', import.meta.filename]) ?? '',
    /no \/no\/such\.tar\. `make images`/,
  );
  assert.match(archivesProblem([]) ?? '', /make images/);
  assert.equal(archivesProblem([import.meta.filename]), undefined);
});
