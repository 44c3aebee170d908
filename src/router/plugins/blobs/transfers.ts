import type { ServerResponse } from 'node:http';
import type { Services } from '../../services.ts';

/** Files on their way, by agent: each holds a connection to it, and a client may be slow. */
export interface Transfers {
  /** Counts one until its answer is over; false when there are too many. */
  begin(agent: string, response: ServerResponse): boolean;
}

/** Milliseconds between two times that what files were read into is freed, while some are on their way. */
const reclaimEveryMs = 40;

export function createTransfers({
  limits: { blobTransfersPerAgent: most },
  clock,
  reclaim,
}: Pick<Services, 'limits' | 'clock' | 'reclaim'>): Transfers {
  const counts = new Map<string, number>();
  let looking = false;

  /** Left to itself, the runtime lets a hundred MiB lie. */
  function look(): void {
    reclaim?.();
    looking = counts.size > 0;
    if (looking) clock.after(reclaimEveryMs, look);
  }
  return {
    begin(agent, response) {
      const count = counts.get(agent) ?? 0;
      if (count >= most) return false;
      counts.set(agent, count + 1);
      if (reclaim !== undefined && !looking) {
        looking = true;
        clock.after(reclaimEveryMs, look);
      }
      response.once('close', () => {
        const left = (counts.get(agent) ?? 1) - 1;
        if (left === 0) counts.delete(agent);
        else counts.set(agent, left);
      });
      return true;
    },
  };
}
