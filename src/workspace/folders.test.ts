import assert from 'node:assert/strict';
import { chmod, lstat, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { codeOf } from '#kit/errors.ts';
import { ensureState, ensureWorkspace, resolveRoot } from './folders.ts';
import { workspacePaths } from './paths.ts';

const uid = process.getuid?.() ?? 0;
let base = '';
before(async () => {
  base = await resolveRoot(await mkdtemp(join(tmpdir(), 'ws-')));
});
after(() => rm(base, { recursive: true }));

async function fresh(name: string) {
  const root = join(base, name);
  await mkdir(root);
  const runtime = join(base, `r${name}`);
  await mkdir(runtime);
  return workspacePaths(root, { uid, xdgRuntimeDir: runtime, tmpdir: base });
}

test('every folder is private, also one that was there with wider rights, and twice is like once', async () => {
  const paths = await fresh('a');
  await mkdir(paths.state);
  await chmod(paths.state, 0o755);
  await ensureWorkspace(paths, uid);
  await ensureWorkspace(paths, uid);
  for (const path of [paths.state, paths.runtime, paths.workloads, paths.logs, paths.agentsRoot]) {
    const found = await lstat(path);
    assert.ok(found.isDirectory());
    assert.equal(found.mode & 0o777, 0o700, path);
  }
});

test('the shared folder is made private, and keeps the mode that the driver gave it', async () => {
  const paths = await fresh('shared');
  await ensureState(paths, uid);
  assert.equal((await lstat(paths.shared)).mode & 0o7777, 0o700);
  await chmod(paths.shared, 0o1777);
  await chmod(paths.deps, 0o755);
  await ensureState(paths, uid);
  assert.equal((await lstat(paths.shared)).mode & 0o7777, 0o1777);
  assert.equal((await lstat(paths.deps)).mode & 0o7777, 0o700, 'the control');
});

test('a runtime folder that is a link is refused', async () => {
  const paths = await fresh('b');
  const elsewhere = join(base, 'elsewhere');
  await mkdir(elsewhere);
  await symlink(elsewhere, join(paths.runtime, '..'));
  await assert.rejects(ensureWorkspace(paths, uid), (error) => codeOf(error) === 'FolderRefused');
});

test('a folder of another user is refused and named', async () => {
  const paths = await fresh('c');
  await ensureWorkspace(paths, uid);
  await assert.rejects(ensureWorkspace(paths, uid + 1), (error: Error) => {
    assert.equal(codeOf(error), 'FolderRefused');
    assert.ok(error.message.includes(paths.state), error.message);
    return true;
  });
});

test('a root that does not exist is refused by name', async () => {
  await assert.rejects(resolveRoot(join(base, 'nowhere')), /nowhere is not a folder/);
});
