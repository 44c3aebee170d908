import { glob, mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Place } from './place.ts';

/** The group that kubelet puts all pods below, in every hierarchy of the machine, the first version's or the second's. */
export async function makeGroups(place: Place): Promise<void> {
  for (const { mountPoint, version } of await hierarchies()) {
    if (version === 2) await delegate(mountPoint);
    await mkdir(join(mountPoint, place.cgroup), { recursive: true });
  }
}

/** In the second version a group has the controllers that its parent passes on, and kubelet wants all there are. */
async function delegate(folder: string): Promise<void> {
  const controllers = await readFile(join(folder, 'cgroup.controllers'), 'utf8').catch(() => '');
  for (const name of controllers.trim().split(' ')) {
    if (name === '') continue;
    // One that may not be passed on is one that kubelet names when it misses it.
    await writeFile(join(folder, 'cgroup.subtree_control'), `+${name}`).catch(() => undefined);
  }
}

/** Processes in any of the cluster's groups: those of pods. */
export async function groupMembers(place: Place): Promise<number[]> {
  const pids = new Set<number>();
  for (const folder of await groups(place)) {
    const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch(() => '');
    for (const line of text.split('\n')) if (line !== '') pids.add(Number(line));
  }
  return [...pids];
}

export async function removeGroups(place: Place): Promise<void> {
  // The deepest first.
  for (const folder of (await groups(place)).toSorted((a, b) => b.length - a.length)) await rmdir(folder);
}

/** All folders of the cluster's groups. */
export async function groups(place: Place): Promise<string[]> {
  const found: string[] = [];
  for (const { mountPoint } of await hierarchies()) {
    const top = join(mountPoint, place.cgroup);
    if ((await readFile(join(top, 'cgroup.procs'), 'utf8').catch(() => undefined)) === undefined) continue;
    found.push(top);
    for await (const entry of glob('**/', { cwd: top })) found.push(join(top, entry));
  }
  return [...new Set(found.map((folder) => folder.replace(/\/$/, '')))];
}

async function hierarchies(): Promise<{ mountPoint: string; version: 1 | 2 }[]> {
  const found: { mountPoint: string; version: 1 | 2 }[] = [];
  for (const line of (await readFile('/proc/mounts', 'utf8')).split('\n')) {
    const [, mountPoint = '', type] = line.split(' ');
    if (type === 'cgroup') found.push({ mountPoint, version: 1 });
    if (type === 'cgroup2') found.push({ mountPoint, version: 2 });
  }
  return found;
}
