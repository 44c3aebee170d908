import type { Clock } from '#kit/clock.ts';

/** Calls back once per key after a time; a key that is set already keeps its time. */
export interface Alarms {
  set(key: string, ms: number, callback: () => void): void;
  clear(): void;
}

export function createAlarms(clock: Clock): Alarms {
  const running = new Map<string, () => void>();
  return {
    set(key, ms, callback) {
      if (running.has(key)) return;
      const cancel = clock.after(ms, () => {
        running.delete(key);
        callback();
      });
      running.set(key, cancel);
    },
    clear() {
      for (const cancel of running.values()) cancel();
      running.clear();
    },
  };
}
