import { readFile } from 'node:fs/promises';
import type { Clock } from '#kit/clock.ts';
import { CodedError } from '#kit/errors.ts';
import { removeControlGroups } from './control-groups.ts';
import { workspaceErrors } from './errors.ts';
import { removeEmptyRuntime, removeRuntime } from './folders.ts';
import { parseLease, writeLease } from './lease.ts';
import { findHolder, holderRuns } from './lock.ts';
import type { WorkspacePaths } from './paths.ts';
import { endWorkloads, runningShims } from './workloads.ts';

export interface StopOptions {
  readonly paths: WorkspacePaths;
  readonly clock: Clock;
  /** How long the watchdog may take. */
  readonly timeoutMs: number;
}

/**
 * Ends the workspace: sandboxes, processes, sockets. Also tidies up after a watchdog that was killed, whose
 * sandboxes may still run. Returns what there was to end.
 */
export async function stopWorkspace(options: StopOptions): Promise<'stopped' | 'tidied' | 'nothing'> {
  const { paths, clock } = options;
  const holder = await findHolder(paths.running);
  if (holder === undefined) return tidyUp(paths, clock);
  process.kill(holder.pid, 'SIGTERM');
  const deadline = clock.monotonic() + options.timeoutMs;
  while (holderRuns(holder)) {
    if (clock.monotonic() >= deadline) {
      const message = `the watchdog (pid ${holder.pid}) did not end within ${options.timeoutMs / 1000} s`;
      throw new CodedError(workspaceErrors.StopTimedOut, message, { remedy: `Read ${paths.logs}.` });
    }
    await clock.sleep(50);
  }
  return 'stopped';
}

async function tidyUp(paths: WorkspacePaths, clock: Clock): Promise<'tidied' | 'nothing'> {
  const found = await runningShims(paths.workloads);
  const lease = parseLease(await readFile(paths.lease, 'utf8').catch(() => ''));
  if (found.length === 0 && lease === undefined) {
    await removeEmptyRuntime(paths);
    return 'nothing';
  }
  await writeLease(paths.lease, { pid: process.pid, counter: (lease?.counter ?? 0) + 1, state: 'down' });
  await endWorkloads(paths.workloads, { clock, graceMs: 15_000 });
  await removeControlGroups(paths.controlGroup);
  await removeRuntime(paths);
  return 'tidied';
}
