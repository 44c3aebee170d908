import type { Fault } from '../workload.ts';
import type { PodFacts } from './observe/pod-facts.ts';

/** What is remembered of one workload between two calls. */
export interface Memory {
  /** uids of ended pods whose end was told. */
  readonly told: Set<string>;
  /** uids of pods that are told to be ending, with when. Monotonic milliseconds. */
  readonly retiring: Map<string, number>;
  /** uids of pods whose Events were looked at. */
  readonly looked: Set<string>;
  /** uids of pods that are being replaced because their agent-server is an older one. */
  readonly upgrading: Set<string>;
  /** What Events said of pods, by uid. */
  readonly warnings: Map<string, Fault>;
  fault: Fault | undefined;
}

export interface Memories {
  /** That of a workload; an empty one when it is new. */
  of(uid: string): Memory;
  forget(uid: string): void;
}

export function createMemories(): Memories {
  const memories = new Map<string, Memory>();
  return {
    of(uid) {
      const known = memories.get(uid);
      if (known !== undefined) return known;
      const memory: Memory = {
        told: new Set(),
        retiring: new Map(),
        looked: new Set(),
        upgrading: new Set(),
        warnings: new Map(),
        fault: undefined,
      };
      memories.set(uid, memory);
      return memory;
    },
    forget: (uid) => memories.delete(uid),
  };
}

/** Drops what was remembered of pods that are gone. */
export function forgetGone(
  { told, retiring, looked, upgrading, warnings }: Memory,
  pods: readonly PodFacts[],
): void {
  const there = new Set(pods.map(({ uid }) => uid));
  for (const known of [told, retiring, looked, upgrading, warnings]) {
    for (const uid of known.keys()) if (!there.has(uid)) known.delete(uid);
  }
}
