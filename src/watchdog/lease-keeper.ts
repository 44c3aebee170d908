import type { Clock } from '#kit/clock.ts';
import type { Journal } from './events.ts';

export type LeaseState = 'up' | 'down';
/** Replaces the lease file atomically. */
export type WriteLease = (counter: number, state: LeaseState) => Promise<void>;

export interface LeaseKeeper {
  /** Writes `down` at once and goes on renewing, so that a shim that starts late ends too. */
  down(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Renews the lease every `intervalMs` until stopped. The first write has happened when this resolves;
 * that one's failure rejects, a later one is logged and tried again at the next turn.
 */
export async function keepLease(
  write: WriteLease,
  options: { readonly clock: Clock; readonly journal: Journal; readonly intervalMs: number },
): Promise<LeaseKeeper> {
  let counter = 1;
  let state: LeaseState = 'up';
  const stopped = new AbortController();
  await write(counter, state);

  const renew = async () => {
    try {
      await write(++counter, state);
    } catch (error) {
      options.journal('error', 'lease_write_failed', { error });
    }
  };
  const loop = (async () => {
    for (;;) {
      await options.clock.sleep(options.intervalMs, stopped.signal);
      await renew();
    }
  })().catch(() => undefined);

  return {
    down: () => {
      state = 'down';
      return renew();
    },
    stop: () => {
      stopped.abort();
      return loop;
    },
  };
}
