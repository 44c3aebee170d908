import { findCondition } from '#api/conditions.ts';
import { routeResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
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

export interface Served {
  /** Of the oldest Route of the namespace that serves MCP. */
  readonly place: RoutePlace | undefined;
  /** Why Routes that would serve MCP do not, a line each. */
  readonly refused: readonly string[];
}

export async function findServed({ client, namespace }: Cluster): Promise<Served> {
  const list = await orForbidden(client.list<Route>(routeResource, { namespace }), undefined);
  const routes = (list?.items ?? []).filter(({ spec }) => spec.mcp !== undefined).sort(byAge);
  const place = routes
    .filter(isAccepted)
    .map(placeOf)
    .find((found) => found !== undefined);
  return { place, refused: routes.filter((route) => !isAccepted(route)).map(describeRefusal) };
}

export function isAccepted({ status }: Route): boolean {
  return findCondition(status?.conditions, 'Accepted')?.status === 'True';
}

export function describeRefusal({ metadata, status }: Route): string {
  const accepted = findCondition(status?.conditions, 'Accepted');
  const why =
    accepted === undefined ? 'not seen by the controller' : `${accepted.reason}: ${accepted.message}`;
  return `Route ${metadata.name} is not accepted: ${why}`;
}

export function placeOf({ spec }: Route): RoutePlace | undefined {
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

export function notServed(namespace: string, home: string, refused: readonly string[]): CliError {
  const rule = `Without a Route, routers serve only namespace ${home}.`;
  const remedy = `Make one, or name another namespace with --namespace:\n${exampleRoute(namespace)}`;
  return new CliError(
    exitCodes.notFound,
    `no Route serves the tools of namespace ${namespace}`,
    refused.length > 0 ? refused.join('\n  ') : `${rule} ${remedy}`,
  );
}

/** Without hosts it would want every host, which only the home namespace may have. */
function exampleRoute(namespace: string): string {
  const route = [
    'apiVersion: ploinky.dev/v1alpha1',
    'kind: Route',
    `metadata: {name: tools, namespace: ${namespace}}`,
    'spec: {selector: {}, hosts: [HOST], mcp: {}}',
  ];
  const how =
    'Save it, put a host that hostClaims of the chart lets the namespace claim for HOST, and `ploinky apply -f` it.';
  return [...route.map((line) => `    ${line}`), `  ${how}`].join('\n');
}
