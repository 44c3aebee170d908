/** What a reconcile says when nothing failed. Waiting is a result, not an error. */
export type Result = { readonly kind: 'settled' } | { readonly kind: 'again'; readonly afterMs: number };

/** Nothing to do until something changes. */
export const settled: Result = { kind: 'settled' };

/** Ask again in `ms` milliseconds at the latest; a change asks sooner. Does not count as a failure. */
export function again(ms: number): Result {
  return { kind: 'again', afterMs: ms };
}
