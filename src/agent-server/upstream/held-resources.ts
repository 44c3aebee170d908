import type { CallContext } from '../source.ts';

/** Who listens to which resources, by the upstream session that tells of them. */
export interface HeldResources {
  /** True when the holder did not listen to it before. */
  add(resource: HeldResource, holder: string): boolean;
  /** True when nobody listens to it any more. */
  remove(resource: Pick<HeldResource, 'link' | 'uri'>, holder: string): boolean;
  /** Takes everything from a holder; returns what nobody listens to any more. */
  drop(holder: string): readonly HeldResource[];
  /** Whether anybody listens to it. */
  has(resource: Pick<HeldResource, 'link' | 'uri'>): boolean;
  all(): readonly HeldResource[];
}

export interface HeldResource {
  /** The upstream session, '' for the shared one. */
  readonly link: string;
  readonly uri: string;
  /** To ask the upstream in that session. */
  readonly context: CallContext;
}

interface Held extends HeldResource {
  readonly holders: Set<string>;
}

export function createHeldResources(): HeldResources {
  const held = new Map<string, Held>();
  const byHolder = new Map<string, Set<string>>();

  function removeKey(key: string, holder: string): Held | undefined {
    const entry = held.get(key);
    if (!entry?.holders.delete(holder) || entry.holders.size > 0) return undefined;
    held.delete(key);
    return entry;
  }
  return {
    add(resource, holder) {
      const key = keyOf(resource);
      const entry = held.get(key) ?? { ...resource, holders: new Set<string>() };
      const known = entry.holders.has(holder);
      entry.holders.add(holder);
      held.set(key, entry);
      const keys = byHolder.get(holder) ?? new Set<string>();
      byHolder.set(holder, keys.add(key));
      return !known;
    },
    remove(resource, holder) {
      const key = keyOf(resource);
      const keys = byHolder.get(holder);
      keys?.delete(key);
      if (keys?.size === 0) byHolder.delete(holder);
      return removeKey(key, holder) !== undefined;
    },
    drop(holder) {
      const keys = [...(byHolder.get(holder) ?? [])];
      byHolder.delete(holder);
      return keys.flatMap((key) => removeKey(key, holder) ?? []);
    },
    has: (resource) => held.has(keyOf(resource)),
    all: () => [...held.values()],
  };
}

function keyOf({ link, uri }: Pick<HeldResource, 'link' | 'uri'>): string {
  return `${link} ${uri}`;
}
