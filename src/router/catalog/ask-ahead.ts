/** Asks again what clients wanted to know, before the next of them does: a few agents at once, each in its turn. */
export interface AskAhead {
  /** Asks for this when there is room. What waits under the same name is replaced. */
  plan(name: string, ask: () => Promise<unknown>): void;
}

/** An agent that says again and again that its lists changed is asked ahead no more often than so, in milliseconds. */
const pauseMs = 1_000;

/** `most`: how many are asked at the same time; 0: none is ever asked ahead. */
export function createAskAhead(most: number, clock: { monotonic(): number }): AskAhead {
  const waiting = new Map<string, () => Promise<unknown>>();
  const asked = new Map<string, number>();
  let running = 0;

  function isTooSoon(name: string): boolean {
    const now = clock.monotonic();
    for (const [other, at] of asked) {
      if (now - at < pauseMs) break;
      asked.delete(other);
    }
    return asked.has(name);
  }
  function work(): void {
    for (const [name, ask] of waiting) {
      if (running >= most) return;
      waiting.delete(name);
      if (isTooSoon(name)) continue;
      asked.set(name, clock.monotonic());
      running += 1;
      ask()
        .catch(() => undefined)
        .finally(() => {
          running -= 1;
          work();
        });
    }
  }
  return {
    plan(name, ask) {
      if (most === 0) return;
      waiting.delete(name);
      waiting.set(name, ask);
      work();
    },
  };
}
