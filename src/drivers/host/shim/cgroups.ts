import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { CgroupPlan, LimitsPlan } from '../limits.ts';
import type { Launch } from '../shim-plan.ts';

export interface AppliedLimits {
  readonly enforced: boolean;
  readonly message?: string;
  readonly cgroups: readonly string[];
  /** The launch, entering its control groups first. */
  readonly launch: Launch;
}

/** Writes its own pid into each group named before `--`, then becomes the command: no moment outside the groups. */
const enterScript = 'while [ "$1" != -- ]; do echo $$ > "$1" || exit 125; shift; done; shift; exec "$@"';

/** Makes the control groups of a run. One that cannot be made leaves the run without limits, and says so. */
export function applyLimits(plan: LimitsPlan, launch: Launch): AppliedLimits {
  if (plan.type === 'none') return { enforced: false, message: plan.message, cgroups: [], launch };
  if (plan.type === 'wrapper') {
    const wrapped = {
      ...launch,
      file: plan.file,
      arguments: [...plan.arguments, launch.file, ...launch.arguments],
      environment: { ...plan.environment, ...launch.environment },
    };
    return { enforced: true, cgroups: [], launch: wrapped };
  }
  const cgroups = plan.groups.map((group) => group.path);
  try {
    for (const group of plan.groups) makeGroup(group);
  } catch (error) {
    removeGroups(cgroups);
    return { enforced: false, message: `control group refused: ${messageOf(error)}`, cgroups: [], launch };
  }
  const procs = cgroups.map((path) => join(path, 'cgroup.procs'));
  const wrapped = {
    ...launch,
    file: '/bin/sh',
    arguments: ['-c', enterScript, 'sh', ...procs, '--', launch.file, ...launch.arguments],
  };
  return { enforced: true, cgroups, launch: wrapped };
}

function makeGroup(group: CgroupPlan): void {
  makeFolder(group.path);
  for (const [name, value] of group.settings) {
    try {
      writeFileSync(join(group.path, name.replace(/\?$/, '')), value);
    } catch (error) {
      if (!name.endsWith('?')) throw error;
    }
  }
}

/** Another shim may be removing the empty parent at this moment. */
function makeFolder(path: string, attempts = 5): void {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    if (attempts === 0 || codeOf(error) !== 'ENOENT') throw error;
    makeFolder(path, attempts - 1);
  }
}

/** Kills every process in the groups. Returns how many were there; ask again until it is 0. */
export function killGroups(cgroups: readonly string[]): number {
  const members = new Set(cgroups.flatMap(membersOf));
  for (const pid of members) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Ended meanwhile.
    }
  }
  return members.size;
}

function membersOf(cgroup: string): number[] {
  try {
    return readFileSync(join(cgroup, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Removes the (empty) groups, and the workspace's own when it was the last. Returns false when one is still busy. */
export function removeGroups(cgroups: readonly string[]): boolean {
  let gone = true;
  for (const path of cgroups) {
    try {
      rmdirSync(path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') gone = false;
    }
    removeParent(dirname(path));
  }
  return gone;
}

/** Under cgroup v2 the parent hands controllers on and is made by the driver, so it stays. */
function removeParent(path: string): void {
  if (existsSync(join(path, 'cgroup.subtree_control'))) return;
  try {
    rmdirSync(path);
  } catch {
    // Others are in it.
  }
}
