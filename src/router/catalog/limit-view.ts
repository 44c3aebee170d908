import type { AllowedKind } from '#routing/allow.ts';
import { hasName } from '#routing/sorted-names.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { ListKind } from './list-kinds.ts';
import { uiLinksOf } from './ui-links.ts';
import type { View, ViewItem } from './view.ts';

/** A surface with `limits`. */
export type LimitedSurface = McpSurface & Required<Pick<McpSurface, 'limits'>>;

export function isLimited(surface: McpSurface): surface is LimitedSurface {
  return surface.limits !== undefined;
}

/** What rules call the items of a list. */
export function allowedKind(kind: ListKind): AllowedKind {
  return kind === 'templates' ? 'resources' : kind;
}

interface Limited {
  readonly tools: View | undefined;
  readonly view: View;
}

/** Lists of different callers that are made of one. */
const mostLimited = 64;

/** Lists as callers may see them; made once for those who may use the same. */
export interface LimitedViews {
  /** `tools`: the whole surface's, which say what resources come with a tool. */
  of(surface: LimitedSurface, kind: ListKind, whole: View, tools: View | undefined): View;
}

export function createLimitedViews(): LimitedViews {
  const known = new WeakMap<View, Map<string, Limited>>();
  return {
    of(surface, kind, whole, tools) {
      const { key } = surface.limits;
      const made = known.get(whole) ?? new Map<string, Limited>();
      known.set(whole, made);
      const found = made.get(key);
      if (found !== undefined && found.tools === tools) return found.view;
      const view = limitView(surface, kind, whole, tools);
      made.delete(key);
      const [oldest] = made.keys();
      if (oldest !== undefined && made.size >= mostLimited) made.delete(oldest);
      made.set(key, { tools, view });
      return view;
    },
  };
}

function limitView(surface: LimitedSurface, kind: ListKind, whole: View, tools: View | undefined): View {
  const { agents, limits } = surface;
  const linked = kind === 'resources' ? linkedUi(surface, tools) : none;
  const isSeen = (item: ViewItem) =>
    limits.permits(allowedKind(kind), item) || isLinked(surface, linked, item);
  const byExposed = new Map([...whole.byExposed].filter(([, item]) => isSeen(item)));
  return {
    items: whole.items.filter(({ exposed }) => byExposed.has(exposed)),
    byExposed,
    conflicts: seenConflicts(whole, byExposed),
    errors: whole.errors.filter(({ agent }) => hasName(agents, agent)),
    emptyAgents: whole.emptyAgents.filter((agent) => hasName(agents, agent)),
    memo: new Map(),
  };
}

const none: ReadonlySet<string> = new Set();

/** `<agent> <URI>` of the resources by which tools show themselves that the caller may call, as clients see them. */
export function linkedUi({ limits }: LimitedSurface, tools: View | undefined): ReadonlySet<string> {
  const linked = new Set<string>();
  for (const item of tools?.byExposed.values() ?? []) {
    const uris = uiLinksOf(item.item);
    if (uris.length === 0 || !limits.permits('tools', item)) continue;
    for (const uri of uris) linked.add(`${item.agent} ${uri}`);
  }
  return linked;
}

/** A tool is of no use to a host without its page. Only pages: an agent cannot open other resources so. */
export function isLinked(
  { agents }: LimitedSurface,
  linked: ReadonlySet<string>,
  { agent, name, exposed }: Pick<ViewItem, 'agent' | 'name' | 'exposed'>,
): boolean {
  return name.startsWith('ui://') && linked.has(`${agent} ${exposed}`) && hasName(agents, agent);
}

/** Names that several of the items have that are left; that others exist is not told. */
function seenConflicts(whole: View, byExposed: View['byExposed']): View['conflicts'] {
  const conflicts = new Map<string, readonly string[]>();
  if (whole.conflicts.size === 0) return conflicts;
  const seen = new Set([...byExposed.values()].map(({ agent, name }) => `${agent} ${name}`));
  for (const [name, agents] of whole.conflicts) {
    const left = agents.filter((agent) => seen.has(`${agent} ${name}`));
    if (left.length > 1) conflicts.set(name, left);
  }
  return conflicts;
}
