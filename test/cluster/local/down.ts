import { access, readdir, readFile, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryRun } from '../run.ts';
import { groupMembers, groups, removeGroups } from './cgroups.ts';
import type { Place } from './place.ts';
import { killAll } from './processes.ts';

/**
 * Ends a cluster, also one that came up by half or whose programs crashed, and removes all that is of it. What there
 * is, is read from the machine and not from records: processes in its network and its control groups, mounts, folders.
 */
export async function takeDown(place: Place): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    await killAll(await ownProcesses(place));
    await removeMounts(place);
    // A pod's processes end a moment after they were killed; a group with processes cannot be removed.
    if (
      await removeGroups(place).then(
        () => true,
        () => false,
      )
    )
      break;
    await sleep(100);
  }
  await tryRun(['ip', 'netns', 'del', place.netns]);
  await rm(place.folder, { recursive: true, force: true });
  const left = await leftovers(place);
  if (left.length > 0)
    throw new Error(`the cluster ${place.name} is down, but this is left: ${left.join('; ')}`);
}

/** What a cluster still holds on this machine, in words. Empty after `takeDown`. */
export async function leftovers(place: Place): Promise<string[]> {
  const exists = (path: string) =>
    access(path).then(
      () => true,
      () => false,
    );
  const left: string[] = [];
  for (const pid of await ownProcesses(place)) left.push(`process ${pid}`);
  for (const mount of await mounts(place)) left.push(`mount ${mount}`);
  for (const folder of await groups(place)) left.push(`control group ${folder}`);
  for (const path of [`/run/netns/${place.netns}`, place.folder]) if (await exists(path)) left.push(path);
  return left;
}

/** Processes in the cluster's network, in its mount namespace or in its pods; never this one or its ancestors. */
async function ownProcesses(place: Place): Promise<number[]> {
  const pids = new Set(await groupMembers(place));
  const netns = await tryRun(['ip', 'netns', 'pids', place.netns]);
  for (const line of netns.stdout.split('\n')) if (line !== '') pids.add(Number(line));
  for (const pid of await mountMembers(place)) pids.add(pid);
  for (const pid of await ancestors()) pids.delete(pid);
  return [...pids];
}

/** Processes in the cluster's mount namespace, which is told by the overlay in it. */
async function mountMembers(place: Place): Promise<number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const mountinfo = await readFile(`/proc/${name}/mountinfo`, 'utf8').catch(() => '');
    if (mountinfo.includes(`upperdir=${place.file('var')},`)) found.push(Number(name));
  }
  return found;
}

async function ancestors(): Promise<number[]> {
  const found = [process.pid];
  for (let pid = process.ppid; pid > 1; ) {
    found.push(pid);
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    pid = Number(stat.split(') ')[1]?.split(' ')[1] ?? 0);
  }
  return found;
}

async function removeMounts(place: Place): Promise<void> {
  for (const mount of (await mounts(place)).toReversed()) await tryRun(['umount', '-l', mount]);
}

/** Mounts below the cluster's folder that this process sees. */
async function mounts(place: Place): Promise<string[]> {
  const lines = (await readFile('/proc/self/mounts', 'utf8')).split('\n');
  return lines.map((line) => line.split(' ')[1] ?? '').filter((path) => path.startsWith(`${place.folder}/`));
}
