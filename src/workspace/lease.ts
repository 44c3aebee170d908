import { rename, writeFile } from 'node:fs/promises';
import { isObject } from '#kit/json.ts';

/**
 * The workspace's lease: one JSON line in a file that the watchdog replaces atomically every two seconds.
 * `counter` grows with each write, so the content always changes. A shim judges by what it sees change,
 * counting its own ticks: wall clocks jump, and a machine that sleeps stops both sides alike.
 * A missing file counts as one that did not change.
 */
export interface Lease {
  /** The watchdog's. */
  readonly pid: number;
  readonly counter: number;
  /** `down`: every shim ends its sandbox at once. */
  readonly state: 'up' | 'down';
}

/** Milliseconds between two writes. */
export const leaseInterval = 2000;

export function formatLease(lease: Lease): string {
  return `${JSON.stringify(lease)}\n`;
}

/** The lease in a file's text, or undefined when it is none. */
export function parseLease(text: string): Lease | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    const { pid, counter, state } = value;
    if (typeof pid !== 'number' || typeof counter !== 'number') return undefined;
    return state === 'up' || state === 'down' ? { pid, counter, state } : undefined;
  } catch {
    return undefined;
  }
}

/** Replaces the lease file: a reader sees the old line or the new. Not synced: a lease need not outlive a boot. */
export async function writeLease(path: string, lease: Lease): Promise<void> {
  const temporary = `${path}.${lease.pid}.tmp`;
  await writeFile(temporary, formatLease(lease), { mode: 0o600 });
  await rename(temporary, path);
}
