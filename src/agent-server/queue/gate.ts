/** Lets at most `limit` executions run at once; the others wait in order of arrival. */
export interface Gate {
  /** Resolves with the function that gives the place back (once; again is harmless). Rejects on abort. */
  enter(signal: AbortSignal): Promise<() => void>;
  /** The same for one who may wait however many do already. */
  enterBeyond(signal: AbortSignal): Promise<() => void>;
  /** Changes the limit; a lower one is reached as running executions end. */
  resize(limit: number): void;
  readonly running: number;
  readonly waiting: number;
}

export interface GateOptions {
  readonly limit: number;
  /** Most that may wait. */
  readonly maxWaiting: number;
  /** The error for one more than that. */
  readonly onFull: () => Error;
}

interface Waiter {
  readonly start: () => void;
}

export function createGate(options: GateOptions): Gate {
  const waiters = new Set<Waiter>();
  let limit = options.limit;
  let running = 0;

  function leaveOnce(): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      running -= 1;
      admit();
    };
  }
  function admit(): void {
    for (const waiter of waiters) {
      if (running >= limit) return;
      waiters.delete(waiter);
      running += 1;
      waiter.start();
    }
  }
  function wait(signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        waiters.delete(waiter);
        reject(signal.reason);
      };
      const waiter = {
        start() {
          signal.removeEventListener('abort', onAbort);
          resolve(leaveOnce());
        },
      };
      waiters.add(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
  async function enter(signal: AbortSignal, maxWaiting: number): Promise<() => void> {
    signal.throwIfAborted();
    if (running < limit && waiters.size === 0) {
      running += 1;
      return leaveOnce();
    }
    if (waiters.size >= maxWaiting) throw options.onFull();
    return wait(signal);
  }
  return {
    enter: (signal) => enter(signal, options.maxWaiting),
    enterBeyond: (signal) => enter(signal, Infinity),
    resize(next) {
      limit = next;
      admit();
    },
    get running() {
      return running;
    },
    get waiting() {
      return waiters.size;
    },
  };
}
