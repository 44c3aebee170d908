import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '#kit/clock.ts';
import { codeOf } from '#kit/errors.ts';
import { isObject } from '#kit/json.ts';
import { isRunning, type ProcessIdentity, signalGroup } from '#kit/process.ts';

export interface EndOptions {
  readonly clock: Clock;
  /** How long the shims have, after the lease said `down`, before they are killed. */
  readonly graceMs: number;
  readonly onKill?: (shim: ProcessIdentity) => void;
}

const pollMs = 50;
const killWaitMs = 5000;

/**
 * Waits until no shim of the workspace runs and kills those that still do after the grace, each by the
 * identity that it recorded (never a later process of the same pid), with its whole group.
 * Returns how many survived even that. Says nothing to the shims: the lease does.
 */
export async function endWorkloads(folder: string, options: EndOptions): Promise<number> {
  const left = await waitForNone(folder, options.clock, options.graceMs);
  for (const shim of left) {
    options.onKill?.(shim);
    signalGroup(shim.pid, 'SIGKILL');
  }
  if (left.length === 0) return 0;
  return (await waitForNone(folder, options.clock, killWaitMs)).length;
}

async function waitForNone(folder: string, clock: Clock, ms: number): Promise<readonly ProcessIdentity[]> {
  const deadline = clock.monotonic() + ms;
  for (;;) {
    const running = await runningShims(folder);
    if (running.length === 0 || clock.monotonic() >= deadline) return running;
    await clock.sleep(pollMs);
  }
}

/** The shims that run now, by the records below the workloads folder. */
export async function runningShims(folder: string): Promise<readonly ProcessIdentity[]> {
  const names = await readdir(folder, { recursive: true }).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
  const records = names.filter((name) => name.endsWith('.json'));
  const identities = await Promise.all(records.map((name) => readIdentity(join(folder, name))));
  return identities.filter((identity) => identity !== undefined).filter(isRunning);
}

/** The process that a record names, at its top or as its member `shim`. */
async function readIdentity(path: string): Promise<ProcessIdentity | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (!isObject(record)) return undefined;
    return identityIn(isObject(record['shim']) ? record['shim'] : record);
  } catch {
    // Being replaced, or gone since the listing.
    return undefined;
  }
}

function identityIn(record: Record<string, unknown>): ProcessIdentity | undefined {
  const { pid, startTime, bootId } = record;
  if (typeof pid !== 'number' || typeof startTime !== 'string' || typeof bootId !== 'string')
    return undefined;
  return { pid, startTime, bootId };
}
