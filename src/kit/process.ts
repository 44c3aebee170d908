import { readdirSync, readFileSync } from 'node:fs';
import { codeOf } from './errors.ts';

/**
 * A process that cannot be confused with a later one of the same pid:
 * pid, start time in clock ticks since boot (field 22 of /proc/PID/stat) and the boot's id.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTime: string;
  readonly bootId: string;
}

/** The identity of a running process, or undefined when there is none (or no /proc, as on macOS). */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z') return undefined;
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return { pid, startTime: fields[19] ?? '', bootId };
  } catch {
    return undefined;
  }
}

/** True while exactly this process runs. A zombie does not count. */
export function isRunning(identity: ProcessIdentity): boolean {
  const current = identifyProcess(identity.pid);
  return (
    current !== undefined && current.startTime === identity.startTime && current.bootId === identity.bootId
  );
}

/** pids of every process that this one may see; none where there is no /proc (macOS). */
export function listProcessIds(): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

/** Signals every process of group `pgid`. Returns false when the group no longer exists. */
export function signalGroup(pgid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pgid, signal);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    throw error;
  }
}
