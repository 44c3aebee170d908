import { setTimeout as sleep } from 'node:timers/promises';

/** Clients that begin so many calls a second, however long each takes. */
export interface OpenLoad {
  /** Begins no more and resolves when those that run have ended. */
  stop(): Promise<void>;
  readonly begun: number;
}

/** `call` is given the number of the call. */
export function startOpenLoad(perSecond: number, call: (number: number) => Promise<unknown>): OpenLoad {
  const running = new Set<Promise<unknown>>();
  let begun = 0;
  let stopped = false;
  const start = performance.now();
  const loop = (async () => {
    while (!stopped) {
      const due = ((performance.now() - start) * perSecond) / 1000;
      while (begun < due) {
        begun += 1;
        const one = call(begun).finally(() => running.delete(one));
        running.add(one);
      }
      await sleep(2);
    }
  })();
  return {
    get begun() {
      return begun;
    },
    async stop() {
      stopped = true;
      await loop;
      await Promise.all(running);
    },
  };
}

/** Takes turns among those that are free; makes one more when none is. */
export class FreeList<T> {
  readonly #free: T[];
  readonly #make: () => T;

  constructor(first: readonly T[], make: () => T) {
    this.#free = [...first];
    this.#make = make;
  }

  async use<R>(work: (one: T) => Promise<R>): Promise<R> {
    const one = this.#free.shift() ?? this.#make();
    try {
      return await work(one);
    } finally {
      this.#free.push(one);
    }
  }
}
