/**
 * One request of a sequence, the same for both servers. `$`-words stand for what each server says itself:
 * `$ns` (anywhere), and as whole strings `$fresh` and `$stale` (the latest and the one before of the versions seen
 * of the object), `$uid`, `$uid:<path>` (of another object), `$continue` (of the last list that was cut).
 */
export interface Request {
  readonly method: string;
  /** Below the namespace: `widgets/a/status?dryRun=All`. */
  readonly path: string;
  readonly body?: unknown;
  /** The object as it was last seen, changed by this merge patch, is the body. */
  readonly change?: unknown;
  readonly type?: string;
  readonly accept?: string;
}

/** A request in one line, as it would be typed into a list of regression cases. */
export function show(request: Request): string {
  return JSON.stringify(request);
}

/** The object that a path names, without subresource and query: `widgets/a`; undefined for a collection. */
export function objectOf(path: string): string | undefined {
  const [plural, name] = (path.split('?')[0] ?? '').split('/');
  return name === undefined ? undefined : `${plural}/${name}`;
}
