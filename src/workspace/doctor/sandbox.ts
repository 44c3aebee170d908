import { readFile } from 'node:fs/promises';
import { type CheckResult, fail, ok, warn } from './result.ts';
import { runProgram } from './run-program.ts';

/** From 0.12 on, bwrap no longer follows links below a writable bind (GHSA-pxhw-h44j-8pfx). */
const firstSafeVersion = [0, 12];
/** A sandbox with every namespace and a tmpfs: what an agent's needs at least. */
const trial = ['--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--tmpfs', '/tmp', '--', 'true'];

/** Whether sandboxes can be made here, and if not, which setting of the system keeps them from it. */
export async function checkSandbox(platform: string): Promise<CheckResult> {
  if (platform === 'darwin') return ok('sandbox-exec is part of macOS (this project has not run it there)');
  const version = await runProgram('bwrap', ['--version']);
  if (!version.found) {
    return fail('bubblewrap is not installed', 'apt install bubblewrap (or your system’s package of it)');
  }
  const outcome = await runProgram('bwrap', trial);
  if (!outcome.ok) {
    return fail(`bubblewrap cannot make a sandbox: ${firstLine(outcome.output)}`, await findObstacle());
  }
  const name = version.output.replace('bubblewrap ', '');
  return isSafe(name)
    ? ok(`bubblewrap ${name} makes sandboxes`)
    : warn(
        `bubblewrap ${name} makes sandboxes, and is older than 0.12 (CVE-2026-87766)`,
        'Update it when your system offers 0.12; no mount point is placed where an agent can write, so it is not exposed.',
      );
}

/** The settings that forbid user namespaces, in the order in which they are met. */
const obstacles = [
  {
    file: '/proc/sys/user/max_user_namespaces',
    forbids: '0',
    remedy: 'sysctl -w user.max_user_namespaces=15000',
  },
  {
    file: '/proc/sys/kernel/unprivileged_userns_clone',
    forbids: '0',
    remedy: 'sysctl -w kernel.unprivileged_userns_clone=1',
  },
  {
    file: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    forbids: '1',
    remedy:
      'AppArmor restricts user namespaces: give /usr/bin/bwrap a profile with `userns,` or run sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
  },
];

async function findObstacle(): Promise<string> {
  for (const { file, forbids, remedy } of obstacles) {
    const value = await readFile(file, 'utf8').catch(() => '');
    if (value.trim() === forbids) return `As root: ${remedy}`;
  }
  return 'In a container, it needs user namespaces and a seccomp profile that allows clone and mount.';
}

function isSafe(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [safeMajor = 0, safeMinor = 0] = firstSafeVersion;
  return major > safeMajor || (major === safeMajor && minor >= safeMinor);
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? '';
}
