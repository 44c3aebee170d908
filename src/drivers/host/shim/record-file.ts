import { renameSync, writeFileSync } from 'node:fs';
import type { ProcessIdentity } from '#kit/process.ts';
import type { WorkloadId } from '../../workload.ts';

/**
 * What a shim leaves on disk so that a restarted controller finds it again. No secrets.
 * `exit` is there once the sandbox ended; then the shim is ending too.
 */
export interface WorkloadRecord {
  readonly version: 1;
  readonly kind: 'agent' | 'install';
  readonly workload: WorkloadId;
  readonly key: string;
  readonly instance: string;
  readonly specHash: string;
  readonly shim: ProcessIdentity;
  /** First process of the sandbox, once it is up; leader of its process group. */
  readonly sandbox?: ProcessIdentity | undefined;
  readonly controlSocket: string;
  readonly address?: string | undefined;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly limitsEnforced: boolean;
  readonly limitsMessage?: string | undefined;
  /** Control groups to end and remove should the shim be killed. */
  readonly cgroups: readonly string[];
  readonly exit?: RecordedExit | undefined;
}

export interface RecordedExit {
  readonly code: number | null;
  readonly signal: string | null;
  readonly at: number;
  /** Why the shim ended it, when it did: `stop`, `lease`, `timeout`, or what kept it from starting. */
  readonly cause?: string | undefined;
}

/**
 * Replaces the record atomically. Not fsynced: after a power cut there is no process to find again,
 * and the boot id says so.
 */
export function writeRecord(path: string, record: WorkloadRecord): void {
  const temporary = `${path}.${process.pid}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  renameSync(temporary, path);
}
