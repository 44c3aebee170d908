/**
 * `requestState` of a parked call: the instance that holds it, in the clear so that a router finds it, a full stop,
 * and what only that instance can read.
 */
export function joinParkState(instance: string, sealed: string): string {
  return `${encodeURIComponent(instance).replaceAll('.', '%2E')}.${sealed}`;
}

/** Undefined for a state that was not made by joinParkState. Says nothing of whether it is genuine. */
export function splitParkState(
  state: unknown,
): { readonly instance: string; readonly sealed: string } | undefined {
  if (typeof state !== 'string' || state.length > 2048) return undefined;
  const match = /^([\w%~!*'()-]+)\.([\w-]+)$/.exec(state);
  if (match === null) return undefined;
  try {
    return { instance: decodeURIComponent(match[1] ?? ''), sealed: match[2] ?? '' };
  } catch {
    return undefined;
  }
}
