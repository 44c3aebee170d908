import type { McpSurface } from '#routing/surface.ts';
import { type ExposeUri, mayRewriteUris } from '#routing/uri-rules.ts';
import type { Services } from '../services.ts';
import type { Expose } from './expose-uris.ts';

/** How clients of the surface see an agent's URIs; undefined where they stay as they are, which costs nothing. */
export function exposeFor(
  { views }: Pick<Services, 'views'>,
  surface: McpSurface,
  agent: string,
): (Expose | undefined) | Promise<Expose | undefined> {
  if (!mayRewriteUris(surface)) return undefined;
  const forAgent = (rules: ExposeUri | undefined): Expose | undefined =>
    rules === undefined ? undefined : (uri) => rules(agent, uri);
  const rules = views.uris(surface);
  return rules instanceof Promise ? rules.then(forAgent) : forAgent(rules);
}
