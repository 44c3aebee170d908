import type { Clock } from '#kit/clock.ts';
import { BlobError } from '../errors.ts';

/** Memory that uploads may hold together. */
export interface PartBudget {
  /**
   * Resolves when so many bytes are there (never more than there are in all), with what gives them back. Rejects with
   * BlobError `Busy` when others hold them for too long.
   */
  hold(bytes: number): Promise<() => void>;
}

export interface PartBudgetOptions {
  /** In all. */
  readonly bytes: number;
  readonly clock: Pick<Clock, 'after'>;
  /** Milliseconds that an upload waits for its share. */
  readonly waitMs: number;
}

interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

/** What needs little goes before what waits for much. */
export function createPartBudget({ bytes: all, clock, waitMs }: PartBudgetOptions): PartBudget {
  const waiting = new Set<Waiting>();
  let free = all;

  function giveBack(bytes: number): void {
    free += bytes;
    for (const one of [...waiting]) if (one.bytes <= free) one.begin();
  }
  function take(bytes: number): () => void {
    free -= bytes;
    let held = bytes;
    return () => {
      const back = held;
      held = 0;
      if (back > 0) giveBack(back);
    };
  }
  return {
    async hold(wanted) {
      const bytes = Math.min(wanted, all);
      if (bytes <= free) return take(bytes);
      return new Promise((resolve, reject) => {
        const late = () => {
          waiting.delete(one);
          reject(busy());
        };
        const cancel = clock.after(waitMs, late);
        const begin = () => {
          cancel();
          waiting.delete(one);
          resolve(take(bytes));
        };
        const one: Waiting = { bytes, begin };
        waiting.add(one);
      });
    },
  };
}

function busy(): BlobError {
  return new BlobError('Busy', 'This agent takes as many uploads as it has memory for', {
    remedy: 'Come again when some have ended.',
  });
}
