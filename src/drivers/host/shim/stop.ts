import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Clock } from '#kit/clock.ts';
import { signalGroup } from '#kit/process.ts';
import { killGroups, removeGroups } from './cgroups.ts';
import { killMarked } from './marked.ts';

/** Asks the sandbox's process group to end and ends it by force after `graceMs`. Returns the cancel function. */
export function stopGracefully(
  child: ChildProcess,
  leader: number | undefined,
  graceMs: number,
  clock: Clock,
): () => void {
  if (leader === undefined || graceMs <= 0 || isStillSettingUp(child, leader)) {
    killHard(child, leader);
    return () => undefined;
  }
  trySignal(leader, 'SIGTERM');
  return clock.after(graceMs, () => killHard(child, leader));
}

/**
 * True while a sandbox's first process has not yet started the command: it would ignore SIGTERM, and there is
 * nothing to end gracefully. Where the command leads the group itself, this is false.
 */
function isStillSettingUp(child: ChildProcess, leader: number): boolean {
  if (leader === child.pid) return false;
  try {
    return readFileSync(`/proc/${leader}/task/${leader}/children`, 'utf8').trim() === '';
  } catch {
    return false;
  }
}

/** SIGKILL to the group and to the command the shim started; a pid namespace dies with its first process. */
export function killHard(child: ChildProcess, leader: number | undefined): void {
  if (leader !== undefined) trySignal(leader, 'SIGKILL');
  child.kill('SIGKILL');
}

function trySignal(group: number, signal: NodeJS.Signals): void {
  try {
    signalGroup(group, signal);
  } catch {
    // Another user's or gone: nothing more can be done from here.
  }
}

/**
 * Ends whatever is left of an instance, in its control groups or marked by its environment, and removes the
 * groups; gives up after two seconds.
 */
export async function clearInstance(
  instance: string,
  cgroups: readonly string[],
  clock: Clock,
): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const left = killGroups(cgroups) + killMarked(instance);
    if (left === 0 && removeGroups(cgroups)) return;
    await clock.sleep(10);
  }
}
