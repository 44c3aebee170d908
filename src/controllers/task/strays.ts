import type { Task } from '#api/task.ts';
import { backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Cache } from '#kube/cache.ts';
import type { Attempts } from './attempts.ts';
import { uidIndex } from './indexes.ts';
import { splitKey } from './phases.ts';

/**
 * Attempts whose Task is gone. One way ends them in every place and at every time, without finalizers: a Task that was
 * seen to go, while this process ran, takes its attempts along at once; one that was gone before is found when an
 * agent-server tells of an attempt that belongs to nothing.
 */
export interface Strays {
  /** The Task with this uid was seen to go. */
  gone(uid: string): void;
  /** An attempt was told of that no known Task has. */
  told(key: string): void;
  close(): void;
}

export interface StraysOptions {
  readonly tasks: Cache<Task>;
  readonly attempts: Attempts;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** Ends an attempt where it goes on. False: it was not reached. */
  readonly end: (key: string) => Promise<boolean>;
}

/** Of what was not reached; in milliseconds. */
const pauses = { initial: 1_000, max: 30_000 };

/** Another controller's Task may be younger than what this cache has seen. In milliseconds. */
const doubtMs = 10_000;
/** Uids of Tasks that have gone; an attempt is told of soon after its Task, or never. */
const mostGone = 10_000;
/** Uids that are in doubt at the same time: an agent-server may make up as many as it likes. */
const mostDoubts = 10_000;

export function createStrays({ tasks, attempts, clock, log, end }: StraysOptions): Strays {
  const seenToGo = new Set<string>();
  /** Keys of attempts that are being ended, and how to leave off. */
  const ending = new Map<string, () => void>();
  const doubts = new Map<string, () => void>();
  let isClosed = false;

  function isThere(uid: string): boolean {
    return tasks.byIndex(uidIndex, uid).length > 0;
  }
  function endAll(uid: string): void {
    const keys = attempts.unended(uid);
    if (keys.length === 0) attempts.forget(uid);
    for (const key of keys) {
      if (ending.has(key)) continue;
      log.info('an attempt whose Task is gone is cancelled', { key });
      void tryEnd(key, uid, 1);
    }
  }
  async function tryEnd(key: string, uid: string, failures: number): Promise<void> {
    ending.set(key, () => undefined);
    const isHeard = await end(key);
    if (isClosed) return;
    ending.delete(key);
    const goesOn = attempts.unended(uid).some((unended) => attempts.holders(unended).length > 0);
    // Nobody is there who could go on with it; who comes tells of it anew.
    if (!goesOn && !isThere(uid)) attempts.forget(uid);
    if (isHeard || !goesOn || isThere(uid)) return;
    const again = () => void tryEnd(key, uid, failures + 1);
    ending.set(key, clock.after(backoffDelay(pauses, failures), again));
  }
  function judge(uid: string): void {
    doubts.delete(uid);
    if (!isThere(uid) && tasks.synced) endAll(uid);
  }
  function forgetOldest(): void {
    const [oldest] = seenToGo;
    if (seenToGo.size > mostGone && oldest !== undefined) seenToGo.delete(oldest);
  }
  return {
    gone(uid) {
      if (isThere(uid)) return;
      seenToGo.add(uid);
      forgetOldest();
      endAll(uid);
    },
    told(key) {
      const { uid = '' } = splitKey(key) ?? {};
      if (seenToGo.has(uid)) return endAll(uid);
      if (!doubts.has(uid) && doubts.size < mostDoubts)
        doubts.set(
          uid,
          clock.after(doubtMs, () => judge(uid)),
        );
    },
    close() {
      isClosed = true;
      for (const cancel of [...doubts.values(), ...ending.values()]) cancel();
    },
  };
}
