import { readFileSync } from 'node:fs';
import { listProcessIds } from '#kit/process.ts';
import { instanceVariable } from '../../shared/instance-variable.ts';

/**
 * Kills every process of an instance, by the mark in its environment: where there is no pid namespace that
 * dies as a whole, a process that made a session of its own is found in no other way. Only processes of the
 * same user are seen. Returns how many there were; ask again until it is 0.
 */
export function killMarked(instance: string): number {
  const mark = `${instanceVariable}=${instance}\0`;
  const pids = listProcessIds().filter((pid) => pid !== process.pid && environmentOf(pid).includes(mark));
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Ended meanwhile.
    }
  }
  return pids.length;
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}
