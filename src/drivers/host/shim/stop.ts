import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Clock } from '#kit/clock.ts';
import { isRunning, signalGroup } from '#kit/process.ts';
import { killGroups, removeGroups } from './cgroups.ts';
import { killMarked } from './marked.ts';
import type { WorkloadRecord } from './record-file.ts';

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

/**
 * SIGKILL to the sandbox's first process, with which its pid namespace dies, to its group and last to the
 * command that the shim started. That one alone would not do: killed in the middle of making the sandbox, it
 * leaves a child that waits for it for ever.
 */
function killHard(child: ChildProcess, leader: number | undefined): void {
  if (leader !== undefined) {
    trySignal(leader, 'SIGKILL');
    tryKill(leader);
  }
  child.kill('SIGKILL');
}

export function killGroup(leader: number): void {
  trySignal(leader, 'SIGKILL');
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Ended already.
  }
}

function trySignal(group: number, signal: NodeJS.Signals): void {
  try {
    signalGroup(group, signal);
  } catch {
    // Another user's or gone: nothing more can be done from here.
  }
}

/** What of a record says which processes belong to the run. */
type Belongings = Pick<WorkloadRecord, 'instance' | 'cgroups' | 'sandbox'>;

/**
 * Ends whatever is left of a run, in its control groups or marked by its environment, waits until it is gone
 * and removes the groups; gives up after two seconds.
 */
export async function clearRun(run: Belongings, clock: Clock): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const left = killGroups(run.cgroups) + killMarked(run.instance);
    const isGone = left === 0 && (run.sandbox === undefined || !isRunning(run.sandbox));
    if (isGone && removeGroups(run.cgroups)) return;
    await clock.sleep(10);
  }
}
