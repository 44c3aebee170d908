/** Characters of the old tail that are looked for in the new one. */
const overlap = 1_024;

/** What a log that is told by its tail has had since it was last told. */
export interface NewLog {
  readonly text: string;
  /** Something between was never seen: more was written than the tail holds. */
  readonly gap: boolean;
}

/**
 * `before` and `now` are ends of the same growing text; `truncated`: the beginning of `now` is missing. Where the text
 * repeats itself the latest place counts, so that nothing is shown twice.
 */
export function newLogOf(before: string, now: string, truncated: boolean): NewLog {
  if (now.startsWith(before)) return { text: now.slice(before.length), gap: before === '' && truncated };
  const end = before.slice(-overlap);
  const at = now.lastIndexOf(end);
  if (at === -1) return { text: now, gap: true };
  return { text: now.slice(at + end.length), gap: false };
}
