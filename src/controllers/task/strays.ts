import type { Task } from '#api/task.ts';
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
  /** Ends an attempt where it goes on. */
  readonly end: (key: string) => Promise<void>;
}

/** Another controller's Task may be younger than what this cache has seen. In milliseconds. */
const doubtMs = 10_000;
/** Uids of Tasks that have gone; an attempt is told of soon after its Task, or never. */
const mostGone = 10_000;

export function createStrays({ tasks, attempts, clock, log, end }: StraysOptions): Strays {
  const seenToGo = new Set<string>();
  /** Keys of attempts that are being ended. */
  const ending = new Set<string>();
  const doubts = new Map<string, () => void>();

  function isThere(uid: string): boolean {
    return tasks.byIndex(uidIndex, uid).length > 0;
  }
  function endAll(uid: string): void {
    const keys = attempts.unended(uid);
    if (keys.length === 0) attempts.forget(uid);
    for (const key of keys) {
      if (ending.has(key)) continue;
      ending.add(key);
      log.info('an attempt whose Task is gone is cancelled', { key });
      void end(key).finally(() => ending.delete(key));
    }
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
      if (!doubts.has(uid))
        doubts.set(
          uid,
          clock.after(doubtMs, () => judge(uid)),
        );
    },
    close() {
      for (const cancel of doubts.values()) cancel();
    },
  };
}
