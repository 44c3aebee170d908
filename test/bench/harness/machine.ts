import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, loadavg, platform, release, totalmem } from 'node:os';

/** Where and when figures were taken: absolute ones mean nothing without it. */
export function machineFacts(): Record<string, unknown> {
  return {
    taken: new Date().toISOString(),
    platform: `${platform()} ${release()} ${arch()}`,
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryMiB: Math.round(totalmem() / 1_048_576),
    /** Of the last minute, before the bench: what else ran. */
    loadAverage: loadavg()[0],
    node: process.version,
    commit: commit(),
  };
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return 'unknown';
  }
}

/** Length of a clock tick of /proc/PID/stat: USER_HZ, which is 100 on every Linux that Node runs on. */
const tickMicros = 10_000;

/** User and system time that a process and its threads have used, in microseconds; undefined without /proc. */
export function cpuMicros(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * tickMicros;
  } catch {
    return undefined;
  }
}

/** Direct children of a process; [] without /proc. */
export function childrenOf(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
    return text.split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Resident memory in MiB; NaN without /proc. */
export function residentMiB(pid: number): number {
  try {
    const match = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
    return Number(match?.[1]) / 1024;
  } catch {
    return Number.NaN;
  }
}

/** Open descriptors of a process; NaN without /proc. */
export function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return Number.NaN;
  }
}
