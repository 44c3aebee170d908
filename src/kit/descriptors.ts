import { closeSync, readdirSync, readFileSync } from 'node:fs';

/** O_CLOEXEC in the octal `flags` of /proc/self/fdinfo (Linux, every architecture Node runs on). */
const closeOnExec = 0o2000000n;

/**
 * Closes every descriptor above 2 that a child of this process would inherit, except those in `keep`.
 * Node marks its own descriptors close-on-exec but leaves those it was started with as they are, so
 * without this a listening socket or a log of the parent reaches every grandchild.
 * Returns what was closed. Does nothing where there is no /proc.
 */
export function closeInheritedDescriptors(keep: readonly number[] = []): readonly number[] {
  const closed: number[] = [];
  for (const fd of inheritableDescriptors()) {
    if (keep.includes(fd)) continue;
    try {
      closeSync(fd);
      closed.push(fd);
    } catch {
      // Gone since it was listed: the directory's own descriptor.
    }
  }
  return closed;
}

/** Descriptors above 2 that are open in this process and not close-on-exec. */
export function inheritableDescriptors(): readonly number[] {
  try {
    return readdirSync('/proc/self/fd')
      .map(Number)
      .filter((fd) => fd > 2 && isInheritable(fd));
  } catch {
    return [];
  }
}

function isInheritable(fd: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1];
    return flags !== undefined && (BigInt(`0o${flags}`) & closeOnExec) === 0n;
  } catch {
    return false;
  }
}
