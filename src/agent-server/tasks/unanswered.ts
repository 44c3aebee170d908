import type { Clock } from '#kit/clock.ts';
import type { TaskQueue } from '../queue/queue.ts';

export interface UnansweredOptions {
  readonly queue: Pick<TaskQueue, 'counts' | 'unanswered' | 'cancel'>;
  readonly clock: Clock;
  /** Milliseconds for which a task waits for answers. */
  readonly ttlMs: number;
}

/** Milliseconds between two looks. */
const lookMs = 60_000;

/** Cancels tasks whose questions nobody answers: they would be kept for ever. Returns the stop function. */
export function endUnanswered({ queue, clock, ttlMs }: UnansweredOptions): () => void {
  let stopped = false;
  let cancelTimer = () => {};

  async function look(): Promise<void> {
    if (queue.counts().inputRequired === 0) return;
    for (const id of await queue.unanswered(clock.now() - ttlMs)) await queue.cancel(id);
  }
  function wait(): void {
    if (stopped) return;
    cancelTimer = clock.after(Math.min(lookMs, ttlMs), () => {
      // A queue that cannot be written now can be at another look.
      look()
        .catch(() => undefined)
        .finally(wait);
    });
  }
  wait();
  return () => {
    stopped = true;
    cancelTimer();
  };
}
