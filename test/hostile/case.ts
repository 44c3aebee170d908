import type { Place } from './place.ts';

/** How an attack was answered. */
export interface Refusal {
  /** In few words, for people. */
  readonly answer: string;
  /** Until the refusal, in milliseconds; the slowest of several. */
  readonly ms: number;
}

/** An attack on the deployed path, and what shows that it is one. */
export interface HostileCase<P extends Place = Place> {
  /** A sentence without its end. */
  readonly name: string;
  /** Sends it, to every surface that it applies to. Throws when it was not refused as it should be. */
  attack(place: P): Promise<Refusal>;
  /**
   * Shows that the attack is real: that it works where the defence is off or absent, or that the same request
   * without what is hostile in it is served. Says which, in few words. Throws when neither is so.
   */
  control(place: P): Promise<string>;
  /** Why it cannot be tried on this machine; undefined when it can. */
  missing?(): string | undefined;
}

export function slowest(refusals: readonly Refusal[]): Refusal {
  const answers = [...new Set(refusals.map(({ answer }) => answer))];
  return { answer: answers.join(', '), ms: Math.max(...refusals.map(({ ms }) => ms)) };
}
