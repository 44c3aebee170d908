import { isObject } from '#kit/json.ts';
import { withoutHiddenText } from '#mcp/hidden-text.ts';
import { filterNames, type Named, type RenamedItem } from '#routing/names-filter.ts';
import { type Exposure, exposeNames, hidesNothing, isLegalName } from '#routing/naming.ts';
import type { ItemFilter, McpSurface } from '#routing/surface.ts';
import { qualifiesUris } from '#routing/uri-rules.ts';
import { exposeUris } from '#routing/uris.ts';
import type { Part } from './catalog.ts';
import { cleanOnce } from './clean-once.ts';
import { type Item, type ListKind, listKinds } from './list-kinds.ts';
import type { View, ViewItem } from './view.ts';

/**
 * Merges in the order of the agents' names, each agent's items in its own order. Tools and prompts get the
 * names of the surface's rules, resources and templates its URIs; what is hidden in prose is left out.
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
  const { shown, lost } = uniqueShown(filterNames(named, filterOf(surface, kind)));
  const renamed = shown.map(({ agent, shown: name }) => ({ agent, name }));
  const originals = new Map(shown.map((item) => [`${item.agent} ${item.shown}`, item.name]));
  const { items, conflicts } =
    kind === 'resources' || kind === 'templates'
      ? exposeUris(renamed, qualifiesUris(surface) ? surface.naming : 'Never')
      : exposeNames(renamed, surface.naming, surface.mode === 'Single' ? hidesNothing : isLegalName);
  const withOriginals = items.map((item) => ({
    ...item,
    original: originals.get(`${item.agent} ${item.name}`) ?? item.name,
  }));
  return { items: withOriginals, conflicts: new Map([...lost, ...conflicts]) };
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
  { agent, original, exposed }: Exposure & { readonly original: string },
  found: ReadonlyMap<string, Item>,
  kind: ListKind,
): ViewItem {
  const item = cleanOnce(found.get(`${agent} ${original}`) ?? {});
  const name = typeof item['name'] === 'string' ? { name: withoutHiddenText(item['name']) } : {};
  const annotations = { ...(isObject(item['annotations']) && item['annotations']), router: { agent } };
  return {
    agent,
    name: original,
    exposed,
    item: { ...item, ...name, [listKinds[kind].key]: exposed, annotations },
  };
}
