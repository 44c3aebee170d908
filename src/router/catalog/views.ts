import type { Clock } from '#kit/clock.ts';
import { type Exposure, exposeNames, filterNames, type Named, type RenamedItem } from '#routing/naming.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { Target } from '#routing/target.ts';
import type { TableSource } from '../sources.ts';
import type { Catalog, Part } from './catalog.ts';
import { type Item, type ListKind, listKinds } from './list-kinds.ts';

export interface ViewItem {
  readonly agent: string;
  /** As the agent says it. */
  readonly name: string;
  /** As clients see it. */
  readonly exposed: string;
  /** The item as clients see it. */
  readonly item: Item;
}

/** One surface's merged list of one kind. */
export interface View {
  readonly items: readonly ViewItem[];
  /** Also what agents listed that are away for a moment: a call to them waits, and the names of others stay. */
  readonly byExposed: ReadonlyMap<string, ViewItem>;
  /** Names that several agents have. */
  readonly conflicts: ReadonlyMap<string, readonly string[]>;
  readonly errors: readonly { readonly agent: string; readonly message: string }[];
  /** Agents that answered and list nothing. */
  readonly emptyAgents: readonly string[];
  /** For what others make of a view and want to keep as long as it lasts. */
  readonly memo: Map<string, string>;
}

export interface Views {
  /** The list as it is now; agents that fail cost their deadline once and are named in `errors`. */
  of(surface: McpSurface, kind: ListKind): Promise<View>;
  /** The list when it is there and nothing says that it changed: for the path of a call, which must not wait. */
  current(surface: McpSurface, kind: ListKind): View | undefined;
  /** The last list made, however old. */
  last(surface: McpSurface, kind: ListKind): View | undefined;
}

interface Kept {
  /** What it was made for: another one has other agents or rules. */
  readonly surface: McpSurface;
  readonly version: number;
  readonly freshUntil: number;
  readonly view: View;
}

export function createViews(options: { tables: TableSource; catalog: Catalog; clock: Clock }): Views {
  const { tables, catalog, clock } = options;
  const kept = new Map<string, Kept>();
  const current = (surface: McpSurface, kind: ListKind): View | undefined => {
    const known = kept.get(viewName(surface, kind));
    if (known?.surface !== surface || known.version !== catalog.version) return undefined;
    return clock.monotonic() < known.freshUntil ? known.view : undefined;
  };
  return {
    current,
    async of(surface, kind) {
      const known = current(surface, kind);
      if (known !== undefined) return known;
      const { targets } = tables.current();
      const there: Target[] = [];
      const parts = await Promise.all(
        surface.agents.map((agent): Promise<Part> => {
          const target = targets.get(`${surface.namespace}/${agent}`);
          if (target !== undefined) there.push(target);
          return target === undefined
            ? Promise.resolve({ agent, error: 'does not exist', last: [] })
            : catalog.part(target, kind);
        }),
      );
      const view = mergeParts(parts, surface, kind);
      if (kept.size > 5_000) kept.clear();
      kept.set(viewName(surface, kind), {
        surface,
        version: catalog.version,
        freshUntil: catalog.freshUntil(there, kind),
        view,
      });
      return view;
    },
    last: (surface, kind) => kept.get(viewName(surface, kind))?.view,
  };
}

function viewName(surface: McpSurface, kind: ListKind): string {
  return `${kind} ${surface.source} ${surface.place.host} ${surface.place.path}`;
}

/**
 * Merges in the order of the agents' names, each agent's items in its own order. Tools and prompts get the
 * names of the surface's rules; resources keep their URIs, and the first agent that has one owns it.
 */
export function mergeParts(parts: readonly Part[], surface: McpSurface, kind: ListKind): View {
  const { key } = listKinds[kind];
  const found = new Map<string, Item>();
  const named: Named[] = [];
  for (const part of parts) {
    for (const item of 'items' in part ? part.items : part.last) {
      const name = String(item[key]);
      if (found.has(`${part.agent} ${name}`)) continue;
      found.set(`${part.agent} ${name}`, item);
      named.push({ agent: part.agent, name });
    }
  }
  const exposures = expose(named, surface, kind);
  const all = exposures.items.map((exposure) => toViewItem(exposure, found, kind));
  const away = new Set(parts.flatMap((part) => ('error' in part ? [part.agent] : [])));
  return {
    items: all.filter((item) => !away.has(item.agent)),
    byExposed: new Map(all.map((item) => [item.exposed, item])),
    conflicts: exposures.conflicts,
    errors: parts.flatMap((part) => ('error' in part ? [{ agent: part.agent, message: part.error }] : [])),
    emptyAgents: parts.flatMap((part) => ('items' in part && part.items.length === 0 ? [part.agent] : [])),
    memo: new Map(),
  };
}

interface NamedExposures {
  readonly items: readonly (Exposure & { readonly original: string })[];
  readonly conflicts: ReadonlyMap<string, readonly string[]>;
}

function expose(named: readonly Named[], surface: McpSurface, kind: ListKind): NamedExposures {
  const filter = kind === 'tools' ? surface.tools : undefined;
  const shown = uniqueShown(filterNames(named, filter));
  const byUri = kind === 'resources' || kind === 'templates';
  const renamed = shown.map(({ agent, shown: name }) => ({ agent, name }));
  const originals = new Map(shown.map((item) => [`${item.agent} ${item.shown}`, item.name]));
  const { items, conflicts } = exposeNames(renamed, byUri ? 'Never' : surface.naming);
  const withOriginals = items.map((item) => ({
    ...item,
    original: originals.get(`${item.agent} ${item.name}`) ?? item.name,
  }));
  return { items: withOriginals, conflicts };
}

/** Two tools of one agent that were renamed alike: the first stays. */
function uniqueShown(items: readonly RenamedItem[]): RenamedItem[] {
  return [
    ...new Map(items.toReversed().map((item) => [`${item.agent} ${item.shown}`, item])).values(),
  ].reverse();
}

/** Says which agent an item is of, as Ploinky's clients look for it. */
function toViewItem(
  { agent, original, exposed }: Exposure & { readonly original: string },
  found: ReadonlyMap<string, Item>,
  kind: ListKind,
): ViewItem {
  const item = found.get(`${agent} ${original}`) ?? {};
  const annotations = { ...(item['annotations'] as object | undefined), router: { agent } };
  return { agent, name: original, exposed, item: { ...item, [listKinds[kind].key]: exposed, annotations } };
}
