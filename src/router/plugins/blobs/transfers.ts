import type { ServerResponse } from 'node:http';

/** Files on their way, by agent: each holds a connection to it, and a client may be slow. */
export interface Transfers {
  /** Counts one until its answer is over; false when there are too many. */
  begin(agent: string, response: ServerResponse): boolean;
}

export function createTransfers(most: number): Transfers {
  const counts = new Map<string, number>();
  return {
    begin(agent, response) {
      const count = counts.get(agent) ?? 0;
      if (count >= most) return false;
      counts.set(agent, count + 1);
      response.once('close', () => {
        const left = (counts.get(agent) ?? 1) - 1;
        if (left === 0) counts.delete(agent);
        else counts.set(agent, left);
      });
      return true;
    },
  };
}
