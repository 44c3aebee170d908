import type { Caller } from './callers.ts';
import { EgressRefusal } from './errors.ts';

export interface Slots {
  /** Takes a place for one connection and returns its release. Throws EgressRefusal `TooMany`. */
  take(caller: Caller): () => void;
}

/** Counts open connections, each workload's and all; an install step counts apart from its agent. */
export function createSlots(perWorkload: number, total: number): Slots {
  const counts = new Map<string, number>();
  let all = 0;
  return {
    take({ namespace, name, purpose }) {
      const key = `${namespace}/${name}/${purpose}`;
      const count = counts.get(key) ?? 0;
      if (count >= perWorkload || all >= total) {
        const limit = count >= perWorkload ? `${perWorkload} of this workload` : `${total} in all`;
        throw new EgressRefusal('TooMany', `too many open connections through the egress proxy (${limit})`);
      }
      counts.set(key, count + 1);
      all += 1;
      return once(() => {
        all -= 1;
        const left = (counts.get(key) ?? 1) - 1;
        if (left === 0) counts.delete(key);
        else counts.set(key, left);
      });
    },
  };
}

function once(act: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) act();
    isDone = true;
  };
}
