import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';

/*
 * Files are named first, then looked at, then opened: O_PATH gives a descriptor that stands for one inode without
 * opening it, so that a FIFO blocks nobody, a device does nothing, and a link that is swapped meanwhile changes nothing:
 * what was looked at is what is read, through the descriptor's own name in /proc.
 */

/** A regular file, open for reading. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
}

/** O_PATH of Linux, which node has no name for. */
const namedOnly = 0o10000000;
const isLinux = process.platform === 'linux';
const forReading = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * Opens `names`, folders and a file in them, below `root`; no link is followed on the way. Undefined for what is not
 * there, or is no regular file of one name: another name of it may be one that must not be read.
 */
export async function openBeneath(root: string, names: readonly string[]): Promise<OpenFile | undefined> {
  const handle = await nameBeneath(root, names);
  return handle === undefined ? undefined : readable(handle);
}

/**
 * Opens a path that may lead over links, as far as the file that it leads to is below `root` and `mayServe` says so of
 * its real path there. `mayServe` gets paths as they are, without a slash in front.
 */
export async function openInside(
  root: string,
  path: string,
  mayServe: (path: string, root: string) => boolean | Promise<boolean>,
): Promise<OpenFile | undefined> {
  const handle = await open(join(root, path), isLinux ? namedOnly : forReading).catch(() => undefined);
  if (handle === undefined) return undefined;
  const [real, folder] = await Promise.all([realPathOf(handle, join(root, path)), realRoot(root)]);
  const isBelow = real !== undefined && folder !== undefined && real.startsWith(folder + sep);
  if (isBelow && (await mayServe(real.slice(folder.length + 1), folder))) return readable(handle);
  await handle.close();
  return undefined;
}

/** A folder below `root`, open so that names in it can be told by `inFolder`. Rejects when it is not there, or a link. */
export function openFolder(root: string, name: string): Promise<FileHandle> {
  const flags = constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_RDONLY;
  return open(join(root, name), flags);
}

/** The path of `name` in an open folder, wherever that is by now. */
export function inFolder(folder: FileHandle, name: string, path: string): string {
  return isLinux ? `/proc/self/fd/${folder.fd}/${name}` : join(path, name);
}

async function nameBeneath(root: string, names: readonly string[]): Promise<FileHandle | undefined> {
  if (names.length === 0 || names.some(isNoName)) return undefined;
  if (!isLinux) return nameByPath(root, names);
  let folder = await open(root, namedOnly | constants.O_DIRECTORY).catch(() => undefined);
  for (const [index, name] of names.entries()) {
    if (folder === undefined) return undefined;
    const flags = index < names.length - 1 ? namedOnly | constants.O_DIRECTORY : namedOnly;
    const next = open(`/proc/self/fd/${folder.fd}/${name}`, flags | constants.O_NOFOLLOW);
    const found = await next.catch(() => undefined);
    await folder.close();
    folder = found;
  }
  return folder;
}

/** What stands for no entry of its folder. */
function isNoName(name: string): boolean {
  return name === '' || name === '.' || name === '..' || name.includes('/') || name.includes('\0');
}

/** Where descriptors have no names: what is swapped between the look and the open is seen by its inode. */
async function nameByPath(root: string, names: readonly string[]): Promise<FileHandle | undefined> {
  const path = join(root, ...names);
  const seen = await lstat(path).catch(() => undefined);
  const real = await realpath(path).catch(() => undefined);
  if (!seen?.isFile() || real !== join((await realRoot(root)) ?? '', ...names)) return undefined;
  const handle = await open(path, forReading | constants.O_NOFOLLOW).catch(() => undefined);
  const { ino, dev } = (await handle?.stat()) ?? {};
  if (ino === seen.ino && dev === seen.dev) return handle;
  await handle?.close();
  return undefined;
}

/** Takes `named` over: it is closed, or is what is read. */
async function readable(named: FileHandle): Promise<OpenFile | undefined> {
  try {
    const stats = await named.stat();
    if (!stats.isFile() || stats.nlink > 1) return undefined;
    if (!isLinux) return { handle: named, stats };
    const handle = await open(`/proc/self/fd/${named.fd}`, forReading);
    return { handle, stats };
  } catch {
    return undefined;
  } finally {
    if (isLinux) await named.close();
  }
}

async function realPathOf(handle: FileHandle, path: string): Promise<string | undefined> {
  return isLinux
    ? readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined)
    : realpath(path).catch(() => undefined);
}

async function realRoot(root: string): Promise<string | undefined> {
  return realpath(root).catch(() => undefined);
}
