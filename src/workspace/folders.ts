import type { Stats } from 'node:fs';
import { chmod, lstat, mkdir, realpath, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CodedError, codeOf } from '#kit/errors.ts';
import { workspaceErrors } from './errors.ts';
import type { WorkspacePaths } from './paths.ts';

/** The folder without symbolic links, as `workspacePaths` wants it. Throws RootMissing. */
export async function resolveRoot(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true) {
    throw new CodedError(workspaceErrors.RootMissing, `workspace ${folder} is not a folder`, {
      remedy: 'Create it, or name another one with --workspace.',
    });
  }
  return realpath(folder);
}

/**
 * Makes the folders of a workspace, each 0700 and owned by `uid`; what is there already stays.
 * Refuses (FolderRefused) a folder that is a link or belongs to somebody else: /tmp is everybody's,
 * and who owns the folder of a socket answers in its name.
 */
export async function ensureWorkspace(paths: WorkspacePaths, uid: number): Promise<void> {
  await ensureState(paths, uid);
  await ensureRuntime(paths, uid);
}

/** Tries again when another workspace that ended took the folder above with it. */
async function ensureRuntime(paths: WorkspacePaths, uid: number, tries = 3): Promise<void> {
  try {
    await ensureOwnFolder(dirname(paths.runtime), uid);
    await ensureOwnFolder(paths.runtime, uid);
    await ensureOwnFolder(paths.workloads, uid);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' || tries <= 1) throw error;
    await ensureRuntime(paths, uid, tries - 1);
  }
}

/** Removes the sockets' folder with all that is in it, and the one above when it was the last. */
export async function removeRuntime(paths: WorkspacePaths): Promise<void> {
  await rm(paths.runtime, { recursive: true, force: true });
  await removeIfEmpty(dirname(paths.runtime));
}

/** The same where it holds nothing: an `up` that begins at this moment may have just made it. */
export async function removeEmptyRuntime(paths: WorkspacePaths): Promise<void> {
  for (const path of [paths.workloads, paths.runtime, dirname(paths.runtime)]) await removeIfEmpty(path);
}

async function removeIfEmpty(path: string): Promise<void> {
  await rmdir(path).catch((error: unknown) => {
    const fine = ['ENOENT', 'ENOTEMPTY', 'EEXIST'];
    if (!fine.includes(codeOf(error) ?? '')) throw error;
  });
}

/** The part of `ensureWorkspace` below `.ploinky`: what `ploinky init` makes. */
export async function ensureState(paths: WorkspacePaths, uid: number): Promise<void> {
  await ensureOwnFolder(paths.state, uid);
  for (const path of [paths.logs, paths.agentsRoot, paths.deps, paths.running]) {
    await ensureOwnFolder(path, uid);
  }
  await takeFolder(paths.shared, uid);
  await ensureOwnFolder(dirname(paths.agentLog('x')), uid);
  await writeFile(join(paths.state, '.gitignore'), '*\n', { mode: 0o600 });
}

async function ensureOwnFolder(path: string, uid: number): Promise<void> {
  const { mode } = await takeFolder(path, uid);
  if ((mode & 0o077) !== 0) await chmod(path, 0o700);
}

/**
 * Makes the folder or checks whose it is, and leaves its mode. For `shared`: the driver alone decides who may use that
 * one, while agents run and commands like `ploinky secret set` come by here.
 */
async function takeFolder(path: string, uid: number): Promise<Stats> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
  const found = await lstat(path);
  if (!found.isDirectory()) throw refused(path, 'is not a folder', 'Remove it.');
  if (found.uid !== uid) {
    throw refused(path, `belongs to user ${found.uid}`, 'Run ploinky as that user, or remove the folder.');
  }
  return found;
}

function refused(path: string, why: string, remedy: string): CodedError {
  return new CodedError(workspaceErrors.FolderRefused, `${path} ${why}`, { remedy });
}
