import type { Clock } from '#kit/clock.ts';

/** Something that is waited for, and what counts in its place when it is late. */
export interface Awaited<T> {
  /** Counts as late when it rejects. */
  readonly part: Promise<T>;
  readonly late: () => T;
}

/** What is there after `ms` at the latest, in order. */
export async function partsWithin<T>(asked: readonly Awaited<T>[], ms: number, clock: Clock): Promise<T[]> {
  const there = new Map<Awaited<T>, T>();
  const { promise, resolve } = Promise.withResolvers<void>();
  const cancel = clock.after(ms, resolve);
  const settled = asked.map((one) =>
    one.part.then(
      (value) => void there.set(one, value),
      () => undefined,
    ),
  );
  Promise.all(settled).then(() => resolve());
  await promise;
  cancel();
  return asked.map((one) => (there.has(one) ? (there.get(one) as T) : one.late()));
}
