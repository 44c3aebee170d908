import { backoffDelay } from '#kit/backoff.ts';
import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import { changesBetween } from '#routing/changes.ts';
import type { RoutingTable } from '#routing/table.ts';
import type { Target } from '#routing/target.ts';
import { type AskAhead, createAskAhead } from './ask-ahead.ts';
import type { CatalogKind, Item } from './list-kinds.ts';

/** One agent's part of a list, or why there is none now and what it was before. */
export type Part =
  | { readonly agent: string; readonly items: readonly Item[] }
  | { readonly agent: string; readonly error: string; readonly last: readonly Item[] };

/**
 * What every agent lists, asked for when it is first needed and kept until the agent's digest or instance
 * changes. One question at a time an agent and kind; an agent that failed is asked again after a pause that
 * grows from 1 to 30 s, and until then its failure is the answer, so that one dead agent costs its deadline
 * once and not each time.
 */
export interface Catalog {
  part(target: Target, kind: CatalogKind): Promise<Part>;
  /** What it listed when it last answered. */
  last(target: Target, kind: CatalogKind): readonly Item[];
  /** Moves whenever any part may have changed; what was made of parts of another version is stale. */
  readonly version: number;
  /** Monotonic time until which none of these agents has to be asked again for the age of its list. */
  freshUntil(targets: readonly Target[], kind: CatalogKind): number;
  /** Drops what the table says is outdated. True when any agent may list something else, or is there or away now. */
  retain(table: RoutingTable): boolean;
}

export interface CatalogOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** `before`: what it listed last; given back where it lists the same. */
  readonly fetch: (
    target: Target,
    kind: CatalogKind,
    signal: AbortSignal,
    before?: readonly Item[],
  ) => Promise<readonly Item[]>;
  readonly listTimeoutMs: number;
  readonly listMaxAgeMs: number;
  /** Agents that are asked at the same time for what they list now, before somebody wants to know. Default: none. */
  readonly listsAhead?: number;
  /** Told what an agent listed, each time that it was asked, and what it listed before. */
  readonly onListed?: (target: Target, kind: CatalogKind, listed: Listed) => void;
  /** Told of each agent that is no more, by uid. */
  readonly onGone?: (uid: string) => void;
}

export interface Listed {
  readonly items: readonly Item[];
  /** Undefined: it was not asked before. */
  readonly before: readonly Item[] | undefined;
}

interface Entry {
  readonly stamp: string;
  readonly parts: Map<CatalogKind, Known>;
}
interface Known {
  /** Settled or on its way. */
  readonly part: Promise<Part>;
  failures: number;
  /** Monotonic; Infinity while on its way. */
  until: number;
  /** When a client last had to wait for it; monotonic. */
  wanted: number;
}

export function createCatalog(options: CatalogOptions): Catalog {
  return new LazyCatalog(options);
}

class LazyCatalog implements Catalog {
  readonly #options: CatalogOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #ahead: AskAhead;
  /** By uid: what an agent that is away for a moment listed when it was there. */
  readonly #last = new Map<string, Map<CatalogKind, readonly Item[]>>();
  /** The last one that was retained. */
  #table: RoutingTable | undefined;
  version = 0;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#ahead = createAskAhead(options.listsAhead ?? 0, options.clock);
  }

  freshUntil(targets: readonly Target[], kind: CatalogKind): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { identity } of targets) {
      const known = this.#entries.get(identity.uid)?.parts.get(kind);
      if (known !== undefined) earliest = Math.min(earliest, known.until);
    }
    return earliest;
  }

  part(target: Target, kind: CatalogKind): Promise<Part> {
    if (target.unavailable !== undefined) {
      const { reason, message, passing } = target.unavailable;
      const last = passing ? this.last(target, kind) : [];
      return Promise.resolve({ agent: target.name, error: `not ready (${reason}): ${message}`, last });
    }
    const entry = this.#entryOf(target);
    const known = entry.parts.get(kind);
    if (known !== undefined && this.#options.clock.monotonic() < known.until) return known.part;
    return this.#ask(target, kind, entry, {
      failures: known?.failures ?? 0,
      wanted: this.#options.clock.monotonic(),
    });
  }

  retain(table: RoutingTable): boolean {
    const before = this.#table;
    this.#table = table;
    let isOther = before === undefined;
    for (const name of changesBetween(before, table).targets) {
      const old = before?.targets.get(name);
      const target = table.targets.get(name);
      isOther ||= !listsAlike(old, target);
      if (old !== undefined && old.identity.uid !== target?.identity.uid) this.#forget(old.identity.uid);
      const uid = target?.identity.uid ?? '';
      const entry = this.#entries.get(uid);
      if (target === undefined || entry === undefined || entry.stamp === stampOf(target)) continue;
      this.#entries.delete(uid);
      this.#askAhead(name, entry);
    }
    if (before === undefined) this.#forgetOthers(table);
    if (isOther) this.version += 1;
    return isOther;
  }

  /**
   * What clients lately had to wait for is asked again at once, so that the next of them finds it. What is asked ahead
   * does not count as wanted: where nobody comes any more it ends with the age that lists have at most.
   */
  #askAhead(name: string, { parts }: Entry): void {
    const since = this.#options.clock.monotonic() - this.#options.listMaxAgeMs;
    const wanted = [...parts].filter(([, known]) => known.wanted > since);
    if (wanted.length === 0) return;
    this.#ahead.plan(name, async () => {
      const target = this.#table?.targets.get(name);
      if (target === undefined || target.unavailable !== undefined) return;
      const entry = this.#entryOf(target);
      const missing = wanted.filter(([kind]) => !entry.parts.has(kind));
      await Promise.all(
        missing.map(([kind, known]) => this.#ask(target, kind, entry, { failures: 0, wanted: known.wanted })),
      );
    });
  }

  /** Whoever was asked before there was a table. */
  #forgetOthers({ targets }: RoutingTable): void {
    const present = new Set([...targets.values()].map((target) => target.identity.uid));
    for (const uid of [...this.#entries.keys(), ...this.#last.keys()]) {
      if (!present.has(uid)) this.#forget(uid);
    }
  }

  #forget(uid: string): void {
    this.#entries.delete(uid);
    this.#last.delete(uid);
    this.#options.onGone?.(uid);
  }

  last(target: Target, kind: CatalogKind): readonly Item[] {
    return this.#last.get(target.identity.uid)?.get(kind) ?? [];
  }

  #remember(target: Target, kind: CatalogKind, items: readonly Item[]): void {
    const { uid, namespace, name } = target.identity;
    // It may have gone while it was asked.
    if (this.#table !== undefined && this.#table.targets.get(`${namespace}/${name}`)?.identity.uid !== uid)
      return;
    const lists = this.#last.get(uid) ?? new Map<CatalogKind, readonly Item[]>();
    const before = lists.get(kind);
    this.#last.set(uid, lists.set(kind, items));
    try {
      this.#options.onListed?.(target, kind, { items, before });
    } catch (error) {
      this.#options.log.error('what an agent lists could not be looked at', {
        ...{ agent: target.name, kind, error: messageOf(error) },
      });
    }
  }

  #entryOf(target: Target): Entry {
    const stamp = stampOf(target);
    const known = this.#entries.get(target.identity.uid);
    if (known?.stamp === stamp) return known;
    const made: Entry = { stamp, parts: new Map() };
    this.#entries.set(target.identity.uid, made);
    return made;
  }

  #ask(
    target: Target,
    kind: CatalogKind,
    entry: Entry,
    { failures, wanted }: Pick<Known, 'failures' | 'wanted'>,
  ): Promise<Part> {
    const { clock, fetch, listTimeoutMs, listMaxAgeMs } = this.#options;
    const deadline = new AbortController();
    const cancel = clock.after(listTimeoutMs, () => deadline.abort());
    const settle = (lifeMs: number, failed: number) => {
      cancel();
      known.until = clock.monotonic() + lifeMs;
      known.failures = failed;
      this.version += 1;
    };
    const before = this.#last.get(target.identity.uid)?.get(kind);
    const part = fetch(target, kind, deadline.signal, before).then(
      (items): Part => {
        settle(listMaxAgeMs, 0);
        this.#remember(target, kind, items);
        return { agent: target.name, items };
      },
      (error): Part => {
        settle(backoffDelay({ initial: 1_000, max: 30_000 }, failures + 1), failures + 1);
        return { agent: target.name, error: messageOf(error), last: this.last(target, kind) };
      },
    );
    const known: Known = { part, failures, until: Number.POSITIVE_INFINITY, wanted };
    entry.parts.set(kind, known);
    return part;
  }
}

/** True when the same is listed of both, also where nothing is. */
function listsAlike(left: Target | undefined, right: Target | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  const isSame = left.identity.uid === right.identity.uid && stampOf(left) === stampOf(right);
  return isSame && JSON.stringify(left.unavailable) === JSON.stringify(right.unavailable);
}

/** Another digest or another instance: other lists. */
function stampOf(target: Target): string {
  const instances = target.ready.map((endpoint) => endpoint.uid).join(',');
  return `${target.namespace} ${target.name} ${target.listsDigest} ${instances}`;
}
