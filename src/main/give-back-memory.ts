import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import { type Collect, exposeCollect } from './expose-collect.ts';

export interface GiveBackOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Between two looks, in milliseconds; what was used meanwhile tells whether the process is quiet. Default 5,000. */
  readonly everyMs?: number;
  /** A process that uses less of a core is quiet. Default 0.15. */
  readonly quietShare?: number;
  /** Milliseconds after which a process that is never quiet gives back all the same. Default 60,000. */
  readonly atLatestMs?: number;
  /** Bytes that the heap must have grown by since the last time. Default 16 MiB. */
  readonly worthBytes?: number;
}

/**
 * Gives the pages of a burst back to the system once the process is quiet. V8 by itself keeps half-empty pages for
 * as long as nothing is allocated, so a controller that made thousands of Agents would stay twice as large as it is.
 * Holds the process up for some 5 ms per MiB in use, at a time when nothing waits, or once a minute when something
 * always does. Returns the stop function.
 */
export function giveBackMemory(options: GiveBackOptions): () => void {
  const {
    clock,
    log,
    everyMs = 5_000,
    quietShare = 0.15,
    atLatestMs = 60_000,
    worthBytes = 16 * 1_048_576,
  } = options;
  const collect = exposeCollect();
  let used = process.cpuUsage();
  let left = getHeapStatistics().total_physical_size;
  let last = clock.monotonic();
  let cancel = clock.after(everyMs, look);

  function look(): void {
    cancel = clock.after(everyMs, look);
    const { user, system } = process.cpuUsage(used);
    used = process.cpuUsage();
    const share = (user + system) / 1000 / everyMs;
    const held = getHeapStatistics().total_physical_size;
    const began = clock.monotonic();
    const quiet = share <= quietShare;
    if ((!quiet && began - last < atLatestMs) || held < left + worthBytes) return;
    compact(collect);
    const after = getHeapStatistics().total_physical_size;
    // What a busy process holds is not what it will need: the next time comes whether or not it grew.
    left = quiet ? after : 0;
    last = clock.monotonic();
    log.debug('memory given back', { before: held, after, ms: Math.round(last - began) });
  }

  return () => cancel();
}

/** A collection that moves what is left together, so that the pages it came from are free. */
function compact(collect: Collect): void {
  setFlagsFromString('--compact-on-every-full-gc');
  try {
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  } finally {
    setFlagsFromString('--no-compact-on-every-full-gc');
  }
}
