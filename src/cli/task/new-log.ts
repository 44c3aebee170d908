/** Characters that the old tail and the new one must share: fewer may be the same by chance. */
const leastShared = 1_024;

/** What a log that is told by its tail has had since it was last told. */
export interface NewLog {
  readonly text: string;
  /** Something between was never seen: more was written than the tail holds. */
  readonly gap: boolean;
}

export interface ToldLog {
  /** The beginning of the tail is missing. */
  readonly truncated: boolean;
  /** Something was written since the tail of before: a log that repeats itself may look as it did. */
  readonly grown: boolean;
}

/**
 * `before` and `now` are ends of the same growing text. Where it repeats itself the shortest text that may have been
 * written counts: nothing is shown twice, and of what was written something is.
 */
export function newLogOf(before: string, now: string, { truncated, grown }: ToldLog): NewLog {
  const goesOn = now.startsWith(before);
  if (goesOn && (now !== before || !truncated || !grown)) {
    return { text: now.slice(before.length), gap: before === '' && truncated };
  }
  // The tail is cut between bytes: its first character may be what is left of one.
  const tail = truncated ? now.replace(/^\ufffd{1,3}/, '') : now;
  const shared = sharedBy(before, tail, { less: grown });
  if (shared >= Math.min(leastShared, before.length)) return { text: tail.slice(shared), gap: false };
  return goesOn ? { text: '', gap: false } : { text: now, gap: true };
}

/**
 * Characters of the longest end of `before` that `now` begins with; `less`: that is not all of `now`. Takes time in
 * proportion to both, whatever they are.
 */
function sharedBy(before: string, now: string, { less }: { less: boolean }): number {
  // At each place: how long a beginning of `now` ends there that is not all up to there (Knuth, Morris, Pratt).
  const borders = new Uint32Array(now.length);
  const step = (length: number, next: number): number => {
    let at = length;
    while (at > 0 && (at === now.length || now.charCodeAt(at) !== next)) at = borders[at - 1] ?? 0;
    return at < now.length && now.charCodeAt(at) === next ? at + 1 : 0;
  };
  for (let at = 1, length = 0; at < now.length; at += 1) {
    length = step(length, now.charCodeAt(at));
    borders[at] = length;
  }
  let shared = 0;
  for (let at = 0; at < before.length; at += 1) shared = step(shared, before.charCodeAt(at));
  return less && shared > 0 && shared === now.length ? (borders[shared - 1] ?? 0) : shared;
}
