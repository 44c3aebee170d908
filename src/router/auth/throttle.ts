import type { Clock } from '#kit/clock.ts';

export interface ThrottleRule {
  /** Failures at once. */
  readonly burst: number;
  /** One more is allowed after each so many milliseconds. */
  readonly everyMs: number;
}

/**
 * Counts failures by a name. Remembers a bounded number of names: those that have nothing left to remember are
 * forgotten first, then the longest unused.
 */
export interface Throttle {
  /** Milliseconds until another attempt; 0: now. */
  waitMs(name: string): number;
  fail(name: string): void;
  /** Takes one failure back. */
  undo(name: string): void;
  forget(name: string): void;
  readonly size: number;
}

const mostNames = 20_000;

export function createThrottle({ burst, everyMs }: ThrottleRule, clock: Pick<Clock, 'monotonic'>): Throttle {
  /** When the bucket would be full again, by name. */
  const fullAt = new Map<string, number>();
  let sweptAt = Number.NEGATIVE_INFINITY;

  function makeRoom(now: number): void {
    // No bucket fills up in less than this: to look at all of them more often would find little.
    if (now - sweptAt >= everyMs) {
      sweptAt = now;
      for (const [name, full] of fullAt) if (full <= now) fullAt.delete(name);
    }
    const [oldest] = fullAt.size > mostNames ? fullAt.keys().take(1) : [];
    if (oldest !== undefined) fullAt.delete(oldest);
  }

  return {
    waitMs(name) {
      const full = fullAt.get(name);
      return full === undefined ? 0 : Math.max(0, full - clock.monotonic() - (burst - 1) * everyMs);
    },
    fail(name) {
      const now = clock.monotonic();
      const full = Math.max(now, fullAt.get(name) ?? now) + everyMs;
      fullAt.delete(name);
      fullAt.set(name, full);
      if (fullAt.size > mostNames) makeRoom(now);
    },
    undo(name) {
      const full = fullAt.get(name);
      if (full !== undefined) fullAt.set(name, full - everyMs);
    },
    forget: (name) => void fullAt.delete(name),
    get size() {
      return fullAt.size;
    },
  };
}
