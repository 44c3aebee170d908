import type { Clock } from '#kit/clock.ts';
import { oncePerObject } from '#kit/memo.ts';
import { wholeOf } from '#routing/limits.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { Target } from '#routing/target.ts';
import { type ExposeUri, mayRewriteUris } from '#routing/uri-rules.ts';
import type { TableSource } from '../sources.ts';
import type { Catalog, Part } from './catalog.ts';
import { createLimitedViews, isLimited, type LimitedSurface } from './limit-view.ts';
import type { ListKind } from './list-kinds.ts';
import { mergeParts } from './merge-parts.ts';
import { exposeUiLinks, linksUi } from './ui-links.ts';
import { createUriRulesMemo } from './uri-rules.ts';
import type { View } from './view.ts';
import { partsWithin } from './within.ts';

/** Lists of a surface; of one with `limits`, what they let be seen. */
export interface Views {
  /** The list as it is now; agents that fail or are late cost their deadline once and are named in `errors`. */
  of(surface: McpSurface, kind: ListKind): Promise<View>;
  /** The list when it is there and nothing says that it changed: for the path of a call, which must not wait. */
  current(surface: McpSurface, kind: ListKind): View | undefined;
  /** The last list made, however old. */
  last(surface: McpSurface, kind: ListKind): View | undefined;
  /**
   * How the surface calls what agents call by a URI; undefined when every URI stays as it is. By the lists as they
   * were last made, at once: only the first time it waits a moment for them.
   */
  uris(surface: McpSurface): (ExposeUri | undefined) | Promise<ExposeUri | undefined>;
}

export interface ViewsOptions {
  readonly tables: TableSource;
  readonly catalog: Catalog;
  readonly clock: Clock;
  /** How long a list waits for one agent where its Route does not say. */
  readonly backendDeadlineMs: number;
  /** Told of each list that was made. */
  readonly onView?: (surface: McpSurface, kind: ListKind, view: View) => void;
}

interface Kept {
  /** What it was made for: another one has other agents or rules. */
  readonly surface: McpSurface;
  readonly version: number;
  readonly freshUntil: number;
  readonly view: View;
  /** What it was made of: as long as agents list the same, everything that was made of the list stays. */
  readonly parts: readonly Part[];
  readonly merged: View;
}

interface Making {
  readonly version: number;
  readonly view: Promise<View>;
}

/** How long a call waits for the lists of resources when nobody has ever asked for them, in milliseconds. */
const graceMs = 100;
/** Lists of one kind that are kept at once. */
const mostKept = 5_000;

export function createViews(options: ViewsOptions): Views {
  return new KeptViews(options);
}

class KeptViews implements Views {
  readonly #options: ViewsOptions;
  readonly #kept: Record<ListKind, Map<string, Kept>> = {
    tools: new Map(),
    resources: new Map(),
    templates: new Map(),
    prompts: new Map(),
  };
  /** However many wait for a list, it is made once for what is known of the agents at that time. */
  readonly #making: Record<ListKind, WeakMap<McpSurface, Making>> = {
    tools: new WeakMap(),
    resources: new WeakMap(),
    templates: new WeakMap(),
    prompts: new WeakMap(),
  };
  readonly #rules = createUriRulesMemo();
  readonly #limited = createLimitedViews();

  constructor(options: ViewsOptions) {
    this.#options = options;
  }

  current(surface: McpSurface, kind: ListKind): View | undefined {
    if (isLimited(surface)) return this.#limit(surface, kind, this.current(surface.limits.whole, kind));
    const { catalog, clock } = this.#options;
    const known = this.#kept[kind].get(placeOf(surface));
    if (known?.surface !== surface || known.version !== catalog.version) return undefined;
    return clock.monotonic() < known.freshUntil ? known.view : undefined;
  }

  last(surface: McpSurface, kind: ListKind): View | undefined {
    if (isLimited(surface)) return this.#limit(surface, kind, this.last(surface.limits.whole, kind));
    return this.#kept[kind].get(placeOf(surface))?.view;
  }

  async of(surface: McpSurface, kind: ListKind): Promise<View> {
    if (isLimited(surface)) return this.#ofLimited(surface, kind);
    const known = this.current(surface, kind);
    if (known !== undefined) return known;
    const { version } = this.#options.catalog;
    const making = this.#making[kind].get(surface);
    if (making?.version === version) return making.view;
    const made: Making = { version, view: this.#make(surface, kind) };
    this.#making[kind].set(surface, made);
    // What failed is made anew for whoever asks next.
    const forget = () => {
      if (this.#making[kind].get(surface) === made) this.#making[kind].delete(surface);
    };
    made.view.catch(forget);
    return made.view;
  }

  /** What the tools say of pages counts as they were last known. */
  #limit(surface: LimitedSurface, kind: ListKind, whole: View | undefined): View | undefined {
    if (whole === undefined) return undefined;
    const tools = kind === 'resources' ? this.last(surface.limits.whole, 'tools') : undefined;
    return this.#limited.of(surface, kind, whole, tools);
  }

  async #ofLimited(surface: LimitedSurface, kind: ListKind): Promise<View> {
    const { whole } = surface.limits;
    const [view, tools] = await Promise.all([
      this.of(whole, kind),
      kind === 'resources' ? this.of(whole, 'tools') : undefined,
    ]);
    return this.#limited.of(surface, kind, view, tools);
  }

  async #make(surface: McpSurface, kind: ListKind): Promise<View> {
    const { tables, catalog, onView } = this.#options;
    const table = tables.current();
    const there: Target[] = [];
    const parts = await this.#parts(surface, kind, there);
    const kept = this.#kept[kind];
    const before = kept.get(placeOf(surface));
    const isSame = before?.surface === surface && areSameParts(before.parts, parts);
    const merged = isSame ? before.merged : mergeParts(parts, surface, kind);
    const view = kind === 'tools' ? await this.#withUiLinks(merged, surface) : merged;
    if (kept.size > mostKept) kept.clear();
    // What an agent said before the table changed may be what it says no more.
    const version = tables.current() === table ? catalog.version : -1;
    const freshUntil = catalog.freshUntil(there, kind);
    kept.set(placeOf(surface), { surface, version, freshUntil, view, parts, merged });
    this.#making[kind].delete(surface);
    onView?.(surface, kind, view);
    return view;
  }

  uris(of: McpSurface): (ExposeUri | undefined) | Promise<ExposeUri | undefined> {
    const surface = wholeOf(of);
    if (!mayRewriteUris(surface)) return undefined;
    const resources = this.#known(surface, 'resources');
    const templates = this.#known(surface, 'templates');
    if (!(resources instanceof Promise || templates instanceof Promise))
      return this.#rules(surface, resources, templates);
    return Promise.all([resources, templates]).then(([known, others]) => this.#rules(surface, known, others));
  }

  #known(surface: McpSurface, kind: ListKind): View | Promise<View> {
    const known = this.current(surface, kind);
    if (known !== undefined) return known;
    const part = this.of(surface, kind);
    const last = this.last(surface, kind);
    if (last !== undefined) {
      // Nobody waits for it.
      part.catch(() => undefined);
      return last;
    }
    const asked = [{ part, late: () => mergeParts([], surface, kind) }];
    return partsWithin(asked, graceMs, this.#options.clock).then(([view]) => view ?? part);
  }

  /** All agents are asked at once; none is waited for beyond the deadline. */
  #parts(surface: McpSurface, kind: ListKind, there: Target[]): Promise<Part[]> {
    const { tables, catalog, clock, backendDeadlineMs } = this.#options;
    const { targets } = tables.current();
    const ms = surface.backends?.deadlineMilliseconds ?? backendDeadlineMs;
    const asked = surface.agents.map((agent) => {
      const target = targets.get(`${surface.namespace}/${agent}`);
      if (target === undefined) {
        const part: Part = { agent, error: 'does not exist', last: [] };
        return { part: Promise.resolve(part), late: () => part };
      }
      there.push(target);
      const error = `did not answer within ${ms} ms`;
      return {
        part: catalog.part(target, kind),
        late: (): Part => ({ agent, error, last: catalog.last(target, kind) }),
      };
    });
    return partsWithin(asked, ms, clock);
  }

  /** A tool that shows itself by a resource names it as clients see it. */
  async #withUiLinks(view: View, surface: McpSurface): Promise<View> {
    if (!mayRewriteUris(surface) || !view.items.some(({ item }) => linksUi(item))) return view;
    const [resources, templates] = await Promise.all([
      this.of(surface, 'resources'),
      this.of(surface, 'templates'),
    ]);
    const rules = this.#rules(surface, resources, templates);
    return rules === undefined ? view : exposeUiLinks(view, rules);
  }
}

/** True when every agent gave the very list that it gave before, or failed in the same way. */
function areSameParts(before: readonly Part[], parts: readonly Part[]): boolean {
  return (
    before.length === parts.length &&
    parts.every((part, index) => {
      const old = before[index];
      if (old === undefined || old.agent !== part.agent) return false;
      if ('items' in part) return 'items' in old && old.items === part.items;
      return 'error' in old && old.error === part.error && old.last === part.last;
    })
  );
}

/** What stays the same when the surface's agents or rules change. */
const placeOf = oncePerObject(({ source, place }: McpSurface) => `${source} ${place.host} ${place.path}`);
