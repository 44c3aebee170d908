import { wholeOf } from './limits.ts';
import { renamed } from './names-filter.ts';
import type { McpSurface } from './surface.ts';
import { qualifyUri, readQualifiedUri } from './uris.ts';

/** How a surface calls what an agent calls by a URI of its own, listed or not. */
export type ExposeUri = (agent: string, uri: string) => string;

/** What of an agent's own URIs is qualified in a surface's lists. */
export interface QualifiedLists {
  /** Resources that are listed and qualified, and those that are listed and are not. */
  isQualified(agent: string, uri: string): boolean | undefined;
  /** True for what one of the agent's qualified templates may have made. */
  isOfQualifiedTemplate(agent: string, uri: string): boolean;
}

/** True when URIs may get their agent's name in front. */
export function qualifiesUris(surface: McpSurface): boolean {
  const { naming, agents } = wholeOf(surface);
  return naming === 'Always' || (naming === 'Conflict' && agents.length > 1);
}

/** True when some URI may look different to clients than to its agent. */
export function mayRewriteUris(surface: McpSurface): boolean {
  return qualifiesUris(surface) || (surface.resources?.rename?.length ?? 0) > 0;
}

/** Pure. The rule for every URI in an answer of an agent. */
export function exposeUriBy(surface: McpSurface, lists: QualifiedLists): ExposeUri {
  const { naming, resources } = surface;
  const qualifies = qualifiesUris(surface);
  return (agent, uri) => {
    const shown = renamed({ agent, name: uri }, resources);
    if (!qualifies) return shown;
    if (naming === 'Always') return qualifyUri(agent, shown);
    const isQualified =
      lists.isQualified(agent, uri) ??
      (lists.isOfQualifiedTemplate(agent, uri) || readQualifiedUri(shown) !== undefined);
    return isQualified ? qualifyUri(agent, shown) : shown;
  };
}
