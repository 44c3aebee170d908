/**
 * Where questions name no call, only one call runs in an upstream session at a time. A call that waits for its client
 * keeps its session, and the next one gets another: lanes, a bounded number for each kind of client.
 */
export interface Lanes {
  /** Waits until no call of this kind runs. Rejects with the signal's reason. */
  enter(kind: string, signal: AbortSignal): Promise<Lane>;
}

export interface Lane {
  /** From 0; the lowest that is free. */
  readonly index: number;
  /** The call waits for its client, and another may run. */
  park(): void;
  leave(): void;
}

interface Kind {
  readonly taken: Set<number>;
  running: number | undefined;
  readonly waiting: Set<() => void>;
}

/** `onFull` is called for a kind all of whose lanes wait for their clients while another call wants one. */
export function createLanes(most: number, onFull: (kind: string) => void): Lanes {
  const kinds = new Map<string, Kind>();

  function next(name: string, kind: Kind): void {
    if (kind.running !== undefined) return;
    const [first] = kind.waiting;
    if (first === undefined) {
      if (kind.taken.size === 0) kinds.delete(name);
    } else if (kind.taken.size < most) first();
    else onFull(name);
  }
  function take(name: string, kind: Kind): Lane {
    let index = 0;
    while (kind.taken.has(index)) index += 1;
    kind.taken.add(index);
    kind.running = index;
    const stopRunning = () => {
      if (kind.running === index) kind.running = undefined;
    };
    let left = false;
    return {
      index,
      park() {
        stopRunning();
        next(name, kind);
      },
      leave() {
        if (left) return;
        left = true;
        stopRunning();
        kind.taken.delete(index);
        next(name, kind);
      },
    };
  }
  return {
    enter(name, signal) {
      const kind = kinds.get(name) ?? { taken: new Set<number>(), running: undefined, waiting: new Set() };
      kinds.set(name, kind);
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          kind.waiting.delete(start);
          reject(signal.reason);
        };
        const start = () => {
          kind.waiting.delete(start);
          signal.removeEventListener('abort', onAbort);
          resolve(take(name, kind));
        };
        if (signal.aborted) return reject(signal.reason);
        signal.addEventListener('abort', onAbort, { once: true });
        kind.waiting.add(start);
        return next(name, kind);
      });
    },
  };
}
