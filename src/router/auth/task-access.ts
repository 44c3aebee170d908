import type { Access } from '#routing/access.ts';
import { hasName } from '#routing/sorted-names.ts';
import type { RoutingTable } from '#routing/table.ts';
import { taskPath } from '../paths.ts';
import type { RequestFacts } from '../request.ts';

/**
 * Of a request for the task of an agent that the query names: what that agent asks, and what the Routes ask by which
 * alone it is reached, of which one is enough. Undefined: it is no such request, or nothing asks. Pure.
 */
export function taskAccess(
  { targets, surfaces }: Pick<RoutingTable, 'targets' | 'surfaces'>,
  { path, search }: Pick<RequestFacts, 'path' | 'search'>,
): { readonly agent: Access | undefined; readonly routes: readonly Access[] } | undefined {
  if (path !== taskPath) return undefined;
  const target = targets.get(new URLSearchParams(search).get('agent') ?? '');
  if (target === undefined) return undefined;
  const { namespace, name, access } = target;
  const leading = surfaces.filter((one) => one.namespace === namespace && hasName(one.agents, name));
  const asking = leading.flatMap((surface) => surface.access ?? []);
  const routes = asking.length === leading.length ? asking : [];
  return access === undefined && routes.length === 0 ? undefined : { agent: access, routes };
}
