/**
 * Keys of one agent's objects, below `<prefix><namespace>/<agent>/`: `data/<id>` is a blob's content, `info/<id>` what
 * is known of it, and makes it one that can be found; `ends/<milliseconds>-<id>` says when it is deleted.
 */
export interface Names {
  readonly data: string;
  readonly info: string;
  readonly ends: string;
  /** Of an ISO time. */
  end(at: string, id: string): string;
}

export function namesBelow(prefix: string, namespace: string, agent: string): Names {
  const own = `${prefix}${prefix === '' || prefix.endsWith('/') ? '' : '/'}${namespace}/${agent}/`;
  const ends = `${own}ends/`;
  return {
    data: `${own}data/`,
    info: `${own}info/`,
    ends,
    end: (at, id) => `${ends}${String(Date.parse(at)).padStart(15, '0')}-${id}`,
  };
}

/** What `end` was made of: milliseconds since the epoch, and the id. */
export function readEnd(name: string): { readonly at: number; readonly id: string } | undefined {
  const match = /^(\d{15})-([0-9a-f]{48})$/.exec(name);
  return match?.[2] === undefined ? undefined : { at: Number(match[1]), id: match[2] };
}
