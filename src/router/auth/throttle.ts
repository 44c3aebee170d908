import type { Clock } from '#kit/clock.ts';

export interface ThrottleRule {
  /** Failures at once. */
  readonly burst: number;
  /** One more is allowed after each so many milliseconds. */
  readonly everyMs: number;
}

/** Counts failures by a name; remembers a bounded number of names, the longest unused are forgotten. */
export interface Throttle {
  /** Milliseconds until another attempt; 0: now. */
  waitMs(name: string): number;
  fail(name: string): void;
  forget(name: string): void;
  readonly size: number;
}

const mostNames = 20_000;

export function createThrottle({ burst, everyMs }: ThrottleRule, clock: Pick<Clock, 'monotonic'>): Throttle {
  /** When the bucket would be full again, by name. */
  const fullAt = new Map<string, number>();
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
      const [oldest] = fullAt.size > mostNames ? fullAt.keys().take(1) : [];
      if (oldest !== undefined) fullAt.delete(oldest);
    },
    forget: (name) => void fullAt.delete(name),
    get size() {
      return fullAt.size;
    },
  };
}
