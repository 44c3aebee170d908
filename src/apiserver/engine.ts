import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { KindRegistry } from './kinds/registry.ts';
import type { Limits } from './limits.ts';
import type { Store } from './store/store.ts';
import type { WatchHub } from './watch/hub.ts';

/** What every verb works with. */
export interface Engine {
  readonly kinds: KindRegistry;
  readonly store: Store;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits: Limits;
}
