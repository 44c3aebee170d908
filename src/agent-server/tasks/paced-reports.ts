import type { Clock } from '#kit/clock.ts';
import type { TaskChange } from '../queue/queue.ts';

/** Reports of tasks that change, for one listener. */
export interface PacedReports {
  /** The task is in another state, or says something else of its progress. */
  changed(change: Pick<TaskChange, 'id' | 'status'>): void;
  /** Nothing is reported any more; what is being reported is not called back. */
  close(): void;
}

/** Milliseconds between two reports of a task that runs on. */
const paceMs = 100;

interface Pace {
  isReporting: boolean;
  /** Something changed since the last report began. */
  isDue: boolean;
  /** That is no progress of a task that runs on. */
  isUrgent: boolean;
  cancelPause(): void;
}

/**
 * Calls `report` with the ids of tasks that change: one call at a time for each, and while it runs on at most ten a
 * second, so that a tool that says much of its progress costs no more. Other changes of state are reported at once.
 * What `report` throws is left to the next change.
 */
export function paceReports(clock: Clock, report: (id: string) => Promise<void>): PacedReports {
  const paces = new Map<string, Pace>();
  let isClosed = false;

  async function run(id: string, pace: Pace): Promise<void> {
    pace.isReporting = true;
    do {
      pace.isDue = false;
      pace.isUrgent = false;
      await report(id).catch(() => undefined);
    } while (pace.isUrgent && !isClosed);
    pace.isReporting = false;
    if (!isClosed) pace.cancelPause = clock.after(paceMs, () => goOn(id, pace));
  }
  function goOn(id: string, pace: Pace): void {
    if (pace.isDue) void run(id, pace);
    else paces.delete(id);
  }
  function begin(id: string): void {
    const pace = { isReporting: false, isDue: false, isUrgent: false, cancelPause: () => {} };
    paces.set(id, pace);
    void run(id, pace);
  }
  return {
    changed({ id, status }) {
      if (isClosed) return;
      const pace = paces.get(id);
      if (pace === undefined) {
        begin(id);
        return;
      }
      pace.isDue = true;
      if (status === 'running') return;
      pace.isUrgent = true;
      if (pace.isReporting) return;
      pace.cancelPause();
      void run(id, pace);
    },
    close() {
      isClosed = true;
      for (const pace of paces.values()) pace.cancelPause();
      paces.clear();
    },
  };
}
