import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { codeOf } from '#kit/errors.ts';
import { listProcessIds } from '#kit/process.ts';
import { markerName } from '../tools/spawner-protocol.ts';

/** One process as /proc shows it. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  /** Value of the marker in its environment, `''` when there is none or it cannot be read. */
  readonly marker: string;
}

/** What belongs to one call: the process that was started, its marker, and the other end of its fd 3. */
export interface CallTrace {
  readonly pid: number;
  readonly marker: string;
  /** `socket:[inode]` of fd 3, where it could be read. */
  readonly channel: string | undefined;
}

/** Every process that this one may see, but no zombies. Empty where there is no /proc (macOS). */
export function listProcesses(): ProcessEntry[] {
  return listProcessIds().flatMap((pid) => {
    const stat = readText(`/proc/${pid}/stat`);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields.length < 4 || fields[0] === 'Z' || fields[0] === 'X') return [];
    const [, parent, group, session] = fields.map(Number);
    return [{ pid, parent: parent ?? 0, group: group ?? 0, session: session ?? 0, marker: markerOf(pid) }];
  });
}

/**
 * Every process of a call: by marker, group and session, then by what holds its fd 3, then all their
 * children. A process that left the session, emptied its environment, closed fd 3 AND lost its parent
 * is not found.
 */
export function findProcessesOf(trace: CallTrace): number[] {
  const all = listProcesses().filter((entry) => entry.pid !== process.pid);
  const found = new Set<number>();
  for (const entry of all) {
    const own = entry.pid === trace.pid || entry.group === trace.pid || entry.session === trace.pid;
    if (own || entry.marker === trace.marker || (entry.marker === '' && holds(entry.pid, trace.channel))) {
      found.add(entry.pid);
    }
  }
  addChildren(all, found);
  return [...found];
}

/** Processes of every call whose marker is `matches`, whatever their group. */
export function findMarked(matches: (marker: string) => boolean): number[] {
  return listProcesses()
    .filter((entry) => entry.marker !== '' && matches(entry.marker))
    .map((entry) => entry.pid);
}

/** The identity of the socket behind a process's descriptor, to recognise it in other processes. */
export function channelOf(pid: number, fd: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${fd}`);
  } catch {
    return undefined;
  }
}

/** Signals one process; false when it is gone. */
export function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ESRCH' || codeOf(error) === 'EPERM') return false;
    throw error;
  }
}

function addChildren(all: readonly ProcessEntry[], found: Set<number>): void {
  let before = -1;
  while (before !== found.size) {
    before = found.size;
    for (const entry of all) if (found.has(entry.parent)) found.add(entry.pid);
  }
}

function holds(pid: number, channel: string | undefined): boolean {
  if (channel === undefined) return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => channelOf(pid, Number(fd)) === channel);
  } catch {
    return false;
  }
}

const prefix = Buffer.from(`${markerName}=`);

function markerOf(pid: number): string {
  try {
    const environment = readFileSync(`/proc/${pid}/environ`);
    let at = environment.indexOf(prefix);
    while (at > 0 && environment[at - 1] !== 0) at = environment.indexOf(prefix, at + 1);
    if (at === -1) return '';
    const end = environment.indexOf(0, at);
    return environment.toString('latin1', at + prefix.length, end === -1 ? environment.length : end);
  } catch {
    return '';
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
