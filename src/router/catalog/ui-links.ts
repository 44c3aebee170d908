import { isObject } from '#kit/json.ts';
import type { ExposeUri } from '#routing/uri-rules.ts';
import type { View } from './view.ts';

/** Older hosts of MCP Apps look for the link under this key. */
const flatKey = 'ui/resourceUri';

/** True when the `_meta` of a tool or result says by which resource it shows itself. */
export function linksUi(item: Readonly<Record<string, unknown>>): boolean {
  const meta = item['_meta'];
  if (!isObject(meta)) return false;
  const { ui } = meta;
  return typeof meta[flatKey] === 'string' || (isObject(ui) && typeof ui['resourceUri'] === 'string');
}

/** The URIs of those resources. */
export function uiLinksOf(item: Readonly<Record<string, unknown>>): string[] {
  const meta = item['_meta'];
  if (!isObject(meta)) return [];
  const { ui } = meta;
  const links = [meta[flatKey], isObject(ui) ? ui['resourceUri'] : undefined];
  return links.filter((link) => typeof link === 'string');
}

/** The item with that link as clients see it; the same one when it stays as it is. */
export function exposeUiLink<T extends Readonly<Record<string, unknown>>>(
  item: T,
  expose: (uri: string) => string,
): T {
  const meta = item['_meta'];
  if (!linksUi(item) || !isObject(meta)) return item;
  const changed = { ...meta };
  const { ui } = meta;
  if (isObject(ui) && typeof ui['resourceUri'] === 'string')
    changed['ui'] = { ...ui, resourceUri: expose(ui['resourceUri']) };
  const flat = meta[flatKey];
  if (typeof flat === 'string') changed[flatKey] = expose(flat);
  return JSON.stringify(changed) === JSON.stringify(meta) ? item : { ...item, _meta: changed };
}

export function exposeUiLinks(view: View, expose: ExposeUri): View {
  const byExposed = new Map(
    [...view.byExposed].map(([exposed, entry]) => {
      const item = exposeUiLink(entry.item, (uri) => expose(entry.agent, uri));
      return [exposed, item === entry.item ? entry : { ...entry, item }] as const;
    }),
  );
  return { ...view, byExposed, items: view.items.map((entry) => byExposed.get(entry.exposed) ?? entry) };
}
