import { execFile } from 'node:child_process';
import { lstatSync, readlinkSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { messageOf } from '#kit/errors.ts';
import type { Availability } from '../driver.ts';

/** Facts about this machine that the driver is built with. */
export interface BwrapHost {
  /** Who runs the driver. 0: sandboxes get users of their own. */
  readonly uid: number;
  readonly gid: number;
  readonly bwrap: string;
  readonly setpriv: string;
  /** BPF program for this machine's architecture. */
  readonly seccompFilter: string;
  readonly system: SystemLayout;
}

/** How /usr, /bin, /lib and the like are laid out here. */
export interface SystemLayout {
  readonly folders: readonly string[];
  readonly links: readonly (readonly [path: string, to: string])[];
}

/** Reads which of the system's top folders are links (merged /usr) and which are folders. */
export function readSystemLayout(): SystemLayout {
  const folders: string[] = [];
  const links: [string, string][] = [];
  for (const path of ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store']) {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isSymbolicLink()) links.push([path, readlinkSync(path)]);
    else if (stat?.isDirectory()) folders.push(path);
  }
  return { folders, links };
}

const userNamespaceRemedy =
  'Allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=15000; ' +
  'on Ubuntu 24.04 and later also an AppArmor profile for bwrap or sysctl kernel.apparmor_restrict_unprivileged_userns=0.';

/** Starts one empty sandbox to see whether this machine can. */
export async function checkBwrap(host: BwrapHost): Promise<Availability> {
  if (!(await executable(host.bwrap))) {
    return {
      ok: false,
      reason: 'bubblewrap (bwrap) is not installed',
      remedy: 'Install it: apt-get install bubblewrap (or dnf, pacman, apk: the package has the same name).',
    };
  }
  if (host.uid === 0 && !(await executable(host.setpriv))) {
    return {
      ok: false,
      reason: 'setpriv is not installed',
      remedy: 'Install util-linux: apt-get install util-linux.',
    };
  }
  if (!(await executable(host.seccompFilter, constants.R_OK))) {
    return {
      ok: false,
      reason: `there is no system call filter for this processor (${host.seccompFilter})`,
      remedy: 'Use x86-64 or arm64, or generate one: src/drivers/bwrap/seccomp/generate.c.',
    };
  }
  return tryEmptySandbox(host);
}

function tryEmptySandbox(host: BwrapHost): Promise<Availability> {
  const user = host.uid === 0 ? [] : ['--unshare-user', '--disable-userns'];
  const system = [
    ...host.system.folders.flatMap((path) => ['--ro-bind', path, path]),
    ...host.system.links.flatMap(([path, to]) => ['--symlink', to, path]),
  ];
  const isolation = ['--unshare-pid', '--unshare-net', '--proc', '/proc', '--dev', '/dev'];
  const commandLine = [...user, ...isolation, ...system, '--', '/bin/true'];
  return new Promise((resolve) => {
    execFile(host.bwrap, commandLine, { timeout: 10_000, env: {} }, (error, _out, stderr) => {
      if (error === null)
        resolve({ ok: true, detail: host.uid === 0 ? 'as root, one user per agent' : 'as a user' });
      else resolve(refusalOf(stderr.trim() || messageOf(error)));
    });
  });
}

/** Tells a bubblewrap that is too old from a system that does not let it work. */
export function refusalOf(reason: string): Extract<Availability, { ok: false }> {
  if (!/unknown option/i.test(reason)) return { ok: false, reason, remedy: userNamespaceRemedy };
  return {
    ok: false,
    reason: `bubblewrap is too old (${reason})`,
    remedy: 'Install bubblewrap 0.8 or later.',
  };
}

async function executable(path: string, mode: number = constants.X_OK): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
