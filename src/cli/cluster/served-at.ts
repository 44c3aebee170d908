import { findCondition } from '#api/conditions.ts';
import { type Route, routeResource } from '#api/route.ts';
import type { Cluster } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { orForbidden } from './errors.ts';

/** Where a router serves the tools of a namespace, when that is by a Route. */
export interface RoutePlace {
  /** Undefined: any. */
  readonly host: string | undefined;
  readonly path: string;
}

/** The place of the oldest Route of the namespace that serves MCP. */
export async function findRoutePlace(cluster: Cluster): Promise<RoutePlace | undefined> {
  const { client, namespace } = cluster;
  const list = await orForbidden(client.list<Route>(routeResource, { namespace }), undefined);
  const serving = (list?.items ?? []).filter(servesMcp).sort(byAge);
  return serving.map(placeOf).find((place) => place !== undefined);
}

function servesMcp({ spec, status }: Route): boolean {
  return spec.mcp !== undefined && findCondition(status?.conditions, 'Accepted')?.status === 'True';
}

function placeOf({ spec }: Route): RoutePlace | undefined {
  const hosts = spec.hosts.filter((host) => !host.startsWith('*'));
  // Under a pattern alone there is no host that could be asked for.
  if (spec.hosts.length > 0 && hosts.length === 0) return undefined;
  const path = [spec.paths[0] ?? '/', spec.mcp?.path ?? '/mcp']
    .map((part) => part.replace(/\/+$/, ''))
    .join('');
  return { host: hosts[0], path: path === '' ? '/' : path };
}

function byAge(left: Route, right: Route): number {
  const [a, b] = [left, right].map(({ metadata }) => `${metadata.creationTimestamp ?? ''} ${metadata.name}`);
  return (a ?? '') < (b ?? '') ? -1 : 1;
}

export function notServed(namespace: string, home: string): CliError {
  return new CliError(
    exitCodes.notFound,
    `no Route serves the tools of namespace ${namespace}`,
    `Without a Route, routers serve only namespace ${home}. Make a Route with mcp in ${namespace}, or name another with --namespace.`,
  );
}
