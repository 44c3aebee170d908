/** Time as the program sees it. Injected everywhere; only `src/main` builds the real one. */
export interface Clock {
  /** Wall-clock time in milliseconds since the epoch. May jump. */
  now(): number;
  /** Monotonic milliseconds from an arbitrary origin; the only base for durations and deadlines. */
  monotonic(): number;
  /** Resolves after `ms` milliseconds, or rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls `callback` once after `ms`. The returned function cancels it; cancelling twice is harmless. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) => sleepOn((done) => startTimer(ms, done), signal),
  after: startTimer,
};

/** Milliseconds of the longest timer; a longer one would call back at once. */
const longestTimer = 2 ** 31 - 1;

function startTimer(ms: number, callback: () => void): () => void {
  let left = ms;
  let timer: NodeJS.Timeout;
  const wait = () => {
    const step = Math.min(left, longestTimer);
    left -= step;
    timer = setTimeout(left > 0 ? wait : callback, step);
  };
  wait();
  return () => clearTimeout(timer);
}

/** Builds an abortable sleep from anything that can call back later; shared with fake clocks in tests. */
export function sleepOn(start: (done: () => void) => () => void, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = start(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
