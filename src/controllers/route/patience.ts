import type { Route } from '#api/route.ts';
import type { Clock } from '#kit/clock.ts';
import { keyTextOf } from '#kube/key.ts';
import { isWaiting, type RouterFacts } from './status.ts';

/** How long the first status of a changed Route waits for the routers, in milliseconds. */
const patienceMs = 250;

export interface Patience {
  /** Milliseconds until the status of the Route is due; 0: now. */
  left(route: Route, facts: RouterFacts): number;
  forget(name: string): void;
}

/**
 * Routers follow a change within milliseconds, and say so a moment later: a status that waits for them is written
 * once, not first as pending and then again. Whoever waits for `Programmed` sees it as early as before.
 */
export function createPatience(clock: Clock): Patience {
  const since = new Map<string, { readonly generation: number | undefined; readonly at: number }>();
  return {
    left(route, facts) {
      const { generation } = route.metadata;
      const name = keyTextOf(route);
      if (!isWaiting(facts) || route.status?.observedGeneration === generation) {
        since.delete(name);
        return 0;
      }
      const now = clock.monotonic();
      const known = since.get(name);
      const begun = known !== undefined && known.generation === generation ? known.at : now;
      since.set(name, { generation, at: begun });
      return Math.max(0, patienceMs - (now - begun));
    },
    forget: (name) => void since.delete(name),
  };
}
