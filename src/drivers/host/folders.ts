import { chmod, chown, lchown, lstat, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Workload } from '../workload.ts';
import { prepareCode } from './code-folder.ts';
import { depsPlaces, type HostPlaces, type RunPlaces } from './places.ts';
import type { RunFolders } from './sandbox.ts';

export interface Ids {
  readonly uid: number;
  readonly gid: number;
}

/** The run's own user, or undefined when it runs as the one that starts it. */
export type RunUser = Ids | undefined;

/** Makes and checks every host folder that a run of `workload` needs. Asked again, it changes nothing. */
export async function prepareAgentFolders(
  workload: Workload,
  places: HostPlaces,
  run: RunPlaces,
  user: RunUser,
  self: Ids,
): Promise<RunFolders> {
  await makePrivate([run.folder, run.files, places.shared]);
  // Everybody's, when every agent is another user; the folder above it is private. Decided here alone.
  await chmod(places.shared, user === undefined ? 0o700 : 0o1777);
  const deps = workload.install === undefined ? undefined : depsPlaces(places, workload.install.digest).ready;
  return {
    code: await prepareRunCode(workload, places, run, user),
    codeWritable: workload.code?.type === 'path' && workload.code.writable,
    deps,
    workspace: await ownFolder(places.workspace(workload.id), user),
    shared: places.shared,
    sockets: await makeSocketsFolder(run),
    files: await writeEtcFiles(run, workload.id.name, user ?? self),
    cache: undefined,
  };
}

/** The same for an install step: its own half-made tree and download cache, the code to read, nothing else. */
export async function prepareInstallFolders(
  workload: Workload,
  digest: string,
  places: HostPlaces,
  run: RunPlaces,
  user: RunUser,
  self: Ids,
): Promise<RunFolders> {
  const deps = depsPlaces(places, digest);
  await makePrivate([run.folder, run.files, places.deps, deps.partial]);
  return {
    code: await prepareRunCode(workload, places, run, user),
    codeWritable: false,
    // Entered before the user changes; the folder above it is private.
    deps: await ownFolder(deps.tree, user, 0o755),
    workspace: undefined,
    shared: undefined,
    sockets: await makeSocketsFolder(run),
    files: await writeEtcFiles(run, 'install', user ?? self),
    cache: await ownFolder(deps.cache, user),
  };
}

function prepareRunCode(workload: Workload, places: HostPlaces, run: RunPlaces, user: RunUser) {
  const inline = join(run.files, 'code');
  return prepareCode(workload.code, { root: places.root, state: places.state, inline }, user);
}

async function makePrivate(folders: readonly string[]): Promise<void> {
  for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 });
}

/** The folder's entries are made by the shim; the sandbox sees the folder read-only. */
async function makeSocketsFolder(run: RunPlaces): Promise<string> {
  await mkdir(run.sockets, { recursive: true, mode: 0o755 });
  return run.sockets;
}

/**
 * Makes a folder that belongs to the run's user, with everything in it: an earlier user may differ (the
 * workspace was moved). No process of the agent runs now, so nothing changes under this walk; links are
 * never followed.
 */
async function ownFolder(path: string, user: RunUser, mode = 0o700): Promise<string> {
  await mkdir(path, { recursive: true, mode });
  if (user === undefined) return path;
  const { uid } = await lstat(path);
  if (uid !== user.uid) await giveTree(path, user.uid, user.gid);
  return path;
}

async function giveTree(path: string, uid: number, gid: number): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const child = join(path, entry.name);
    if (entry.isDirectory()) await giveTree(child, uid, gid);
    else await lchown(child, uid, gid);
  }
  await chown(path, uid, gid);
}

/** The host's own files name its users and servers; these name the sandbox's. */
async function writeEtcFiles(run: RunPlaces, hostname: string, { uid, gid }: Ids): Promise<string> {
  const folder = join(run.files, 'etc');
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const files = {
    passwd: `root:x:0:0:root:/:/bin/false\nagent:x:${uid}:${gid}:agent:/tmp:/bin/sh\n`,
    group: `root:x:0:\nagent:x:${gid}:\n`,
    hosts: `127.0.0.1 localhost ${hostname}\n::1 localhost\n`,
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
    'resolv.conf': '# No resolver: names are resolved by the egress proxy.\n',
  };
  for (const [name, text] of Object.entries(files))
    await writeFile(join(folder, name), text, { mode: 0o644 });
  return folder;
}
