import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type CheckResult, ok, warn } from './result.ts';
import { runProgram } from './run-program.ts';

const without = 'agents run without memory and process limits (condition LimitsNotEnforced)';

/** Whether agents' limits can be enforced: delegated cgroup v2, `systemd-run --user`, or cgroup v1 as root. */
export async function checkLimits(uid: number): Promise<CheckResult> {
  const controllers = await readFile('/sys/fs/cgroup/cgroup.controllers', 'utf8').catch(() => undefined);
  if (controllers !== undefined && (await ownCgroupIsWritable()))
    return ok('cgroup v2, delegated to this user');
  if (uid === 0 && (await isWritable('/sys/fs/cgroup/memory'))) return ok('cgroup v1, as root');
  if (controllers !== undefined) {
    const manager = await runProgram('systemctl', ['--user', 'is-system-running']);
    if (manager.found && /running|degraded/.test(manager.output))
      return ok('cgroup v2 by systemd-run --user');
  }
  return warn(
    `no cgroup that this user may use: ${without}`,
    'Log in through systemd, or delegate a cgroup v2.',
  );
}

async function ownCgroupIsWritable(): Promise<boolean> {
  const own = await readFile('/proc/self/cgroup', 'utf8').catch(() => '');
  const path = /^0::(.*)$/m.exec(own)?.[1];
  return path !== undefined && (await isWritable(join('/sys/fs/cgroup', path, 'cgroup.procs')));
}

async function isWritable(path: string): Promise<boolean> {
  return access(path, constants.W_OK).then(
    () => true,
    () => false,
  );
}
