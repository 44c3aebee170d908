import { driverError } from '../errors.ts';
import type { Mount, SandboxPlan } from './plan.ts';

/**
 * Refuses a plan in which anything is mounted or made below a path that the agent can write, inside the
 * sandbox or, through another name, on the host. bubblewrap before 0.12 follows symbolic links there while it
 * still sees the whole host (CVE-2026-87766): an agent that left `link -> /etc` in its folder would have
 * the next start write outside.
 */
export function refuseUnsafePlan(plan: SandboxPlan): void {
  const writable = plan.mounts.filter(isWritable);
  for (const mount of plan.mounts) {
    for (const other of writable) {
      if (other !== mount) refuseBelow(mount, other, plan.mounts);
    }
  }
}

type WritableMount = Extract<Mount, { type: 'bind' | 'tmpfs' }>;

function isWritable(mount: Mount): mount is WritableMount {
  return (mount.type === 'bind' && mount.writable) || (mount.type === 'tmpfs' && !mount.readOnly);
}

function refuseBelow(mount: Mount, writable: WritableMount, mounts: readonly Mount[]): void {
  if (isBelow(mount.target, writable.target)) {
    throw unsafe(mount.target, `it lies below ${writable.target}, which the agent can write`);
  }
  if (writable.type !== 'bind') return;
  if (mount.type === 'bind' && isBelow(mount.source, writable.source)) {
    throw unsafe(mount.target, `its source lies below ${writable.source}, which the agent can write`);
  }
  const hostPath = hostPathOf(mount, mounts);
  if (hostPath !== undefined && (hostPath === writable.source || isBelow(hostPath, writable.source))) {
    throw unsafe(mount.target, `on the host it is ${hostPath}, which the agent can write`);
  }
}

/** Where a mount point lies on the host: below the source of the innermost bind around it. */
function hostPathOf(mount: Mount, mounts: readonly Mount[]): string | undefined {
  let found: Extract<Mount, { type: 'bind' }> | undefined;
  for (const outer of mounts.slice(0, mounts.indexOf(mount))) {
    if (outer.type !== 'bind' || !isBelow(mount.target, outer.target)) continue;
    if (found === undefined || outer.target.length >= found.target.length) found = outer;
  }
  return found === undefined ? undefined : found.source + mount.target.slice(found.target.length);
}

/** True when `path` is strictly inside `folder`. Both are absolute and normalised. */
export function isBelow(path: string, folder: string): boolean {
  return path !== folder && path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

function unsafe(target: string, why: string): Error {
  return driverError('UnsafeMount', `refusing to mount ${target}: ${why}`);
}
