import type { Clock } from '#kit/clock.ts';

/** Something that is waited for, and what counts in its place when it is late. */
export interface Awaited<T> {
  /** Never rejects. */
  readonly part: Promise<T>;
  readonly late: () => T;
}

/** What is there after `ms` at the latest, in order. */
export async function partsWithin<T>(asked: readonly Awaited<T>[], ms: number, clock: Clock): Promise<T[]> {
  const there = new Map<Awaited<T>, T>();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  Promise.all(asked.map(async (one) => there.set(one, await one.part))).then(() => resolve());
  await promise;
  cancel();
  return asked.map((one) => (there.has(one) ? (there.get(one) as T) : one.late()));
}
