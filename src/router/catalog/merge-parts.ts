import { isObject } from '#kit/json.ts';
import { withoutHiddenText } from '#mcp/hidden-text.ts';
import { filterNames, type Named, type RenamedItem } from '#routing/names-filter.ts';
import { type Exposure, type Exposures, exposeNames, hidesNothing, isLegalName } from '#routing/naming.ts';
import type { ItemFilter, McpSurface } from '#routing/surface.ts';
import { qualifiesUris } from '#routing/uri-rules.ts';
import { exposeUris } from '#routing/uris.ts';
import type { Part } from './catalog.ts';
import { cleanOnce, isPlainList } from './clean-once.ts';
import { type Item, type ListKind, listKinds } from './list-kinds.ts';
import type { View, ViewItem } from './view.ts';

/**
 * Merges in the order of the agents' names, each agent's items in its own order. Tools and prompts get the
 * names of the surface's rules, resources and templates its URIs; what is hidden in prose is left out.
 */
export function mergeParts(parts: readonly Part[], surface: McpSurface, kind: ListKind): View {
  const { key } = listKinds[kind];
  const listed = new Map<string, Listed>();
  const named: Named[] = [];
  for (const part of parts) {
    const { agent } = part;
    const items = 'items' in part ? part.items : part.last;
    const byName = new Map<string, Item>();
    listed.set(agent, { byName, isPlain: isPlainList(items) });
    for (const item of items) {
      const name = String(item[key]);
      if (byName.has(name)) continue;
      byName.set(name, item);
      named.push({ agent, name });
    }
  }
  const exposures = expose(named, surface, kind);
  const all = exposures.items.map((exposure) => toViewItem(exposure, listed.get(exposure.agent), kind));
  const away = new Set(parts.flatMap((part) => ('error' in part ? [part.agent] : [])));
  return {
    items: away.size === 0 ? all : all.filter((item) => !away.has(item.agent)),
    byExposed: new Map(all.map((item) => [item.exposed, item])),
    conflicts: exposures.conflicts,
    errors: parts.flatMap((part) => ('error' in part ? [{ agent: part.agent, message: part.error }] : [])),
    emptyAgents: parts.flatMap((part) => ('items' in part && part.items.length === 0 ? [part.agent] : [])),
    memo: new Map(),
  };
}

/** What one agent lists. */
interface Listed {
  readonly byName: ReadonlyMap<string, Item>;
  /** Nothing is hidden in it. */
  readonly isPlain: boolean;
}

type NamedExposure = Exposure & {
  /** The agent's own name, where `name` is another one. */
  readonly original?: string;
};

interface NamedExposures {
  readonly items: readonly NamedExposure[];
  readonly conflicts: ReadonlyMap<string, readonly string[]>;
}

function expose(named: readonly Named[], surface: McpSurface, kind: ListKind): NamedExposures {
  const filter = filterOf(surface, kind);
  const filtered = filterNames(named, filter);
  // Only by a rename one agent can have a name twice.
  if ((filter?.rename ?? []).length === 0) return exposeAs(filtered, surface, kind);
  const { shown, lost } = uniqueShown(filtered);
  const renamed = shown.map(({ agent, shown: name }) => ({ agent, name }));
  const originals = new Map(shown.map((item) => [`${item.agent} ${item.shown}`, item.name]));
  const { items, conflicts } = exposeAs(renamed, surface, kind);
  const withOriginals = items.map((item) => ({
    ...item,
    original: originals.get(`${item.agent} ${item.name}`) ?? item.name,
  }));
  return { items: withOriginals, conflicts: new Map([...lost, ...conflicts]) };
}

function exposeAs(named: readonly Named[], surface: McpSurface, kind: ListKind): Exposures {
  return kind === 'resources' || kind === 'templates'
    ? exposeUris(named, qualifiesUris(surface) ? surface.naming : 'Never')
    : exposeNames(named, surface.naming, surface.mode === 'Single' ? hidesNothing : isLegalName);
}

/** The filter of the surface for items of this kind. */
export function filterOf(surface: McpSurface, kind: ListKind): ItemFilter | undefined {
  if (kind === 'tools') return surface.tools;
  return kind === 'prompts' ? surface.prompts : surface.resources;
}

/** Two items of one agent that were renamed alike: the first stays, and the clash is told. */
function uniqueShown(items: readonly RenamedItem[]): {
  readonly shown: readonly RenamedItem[];
  readonly lost: ReadonlyMap<string, readonly string[]>;
} {
  const first = new Map<string, RenamedItem>();
  const lost = new Map<string, readonly string[]>();
  for (const item of items) {
    const key = `${item.agent} ${item.shown}`;
    if (first.has(key)) lost.set(item.shown, [item.agent]);
    else first.set(key, item);
  }
  return { shown: [...first.values()], lost };
}

/** Says which agent an item is of, as Ploinky's clients look for it. */
function toViewItem(
  { agent, name: shown, original = shown, exposed }: NamedExposure,
  listed: Listed | undefined,
  kind: ListKind,
): ViewItem {
  const own = listed?.byName.get(original) ?? {};
  const item = listed?.isPlain === true ? own : withoutHidden(own);
  const annotations = { ...(isObject(item['annotations']) && item['annotations']), router: { agent } };
  return {
    agent,
    name: original,
    exposed,
    item: { ...item, [listKinds[kind].key]: exposed, annotations },
  };
}

function withoutHidden(item: Item): Item {
  const cleaned = cleanOnce(item);
  const { name } = cleaned;
  return typeof name === 'string' ? { ...cleaned, name: withoutHiddenText(name) } : cleaned;
}
