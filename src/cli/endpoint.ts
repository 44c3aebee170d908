import { agentResource, routeResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import { ApiError } from '#kube/errors.ts';
import { describeRefusal, isAccepted, placeOf } from './cluster/served-at.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import type { Router } from './router.ts';
import type { Session } from './session.ts';
import { mcpPath } from './tool-list.ts';

/** What an MCP client is led to: everything, one agent, or what a Route makes of several. */
export interface Wanted {
  readonly agent?: string | undefined;
  readonly route?: string | undefined;
}

/** An MCP endpoint of a router. */
export interface Endpoint {
  readonly router: Router;
  readonly path: string;
}

/** Throws `usage` when both are named, `notFound` when there is no such agent or Route, or it serves no MCP. */
export async function findEndpoint(router: Router, session: Session, wanted: Wanted): Promise<Endpoint> {
  const { agent, route } = wanted;
  if (agent !== undefined && route !== undefined) {
    throw new CliError(exitCodes.usage, '--agent and --route exclude each other', 'Name one of them.');
  }
  if (route !== undefined) return endpointOfRoute(router, session, route);
  if (agent !== undefined) await requireAgent(router, session, agent);
  return { router, path: mcpPath(router, agent) };
}

async function endpointOfRoute(router: Router, session: Session, name: string): Promise<Endpoint> {
  const route = await orNotFound(
    session.client.get<Route>(routeResource, { namespace: session.namespace, name }),
    `there is no Route "${name}" in namespace ${session.namespace}`,
    '`ploinky get routes` lists them.',
  );
  const place = route.spec.mcp === undefined ? undefined : placeOf(route);
  if (place === undefined) {
    const message = `Route "${name}" has no MCP endpoint that could be named`;
    throw new CliError(exitCodes.notFound, message, 'It needs mcp, and a host that is no pattern, or none.');
  }
  if (!isAccepted(route)) throw new CliError(exitCodes.notFound, describeRefusal(route));
  return { router: { ...router, host: place.host ?? router.host }, path: place.path };
}

async function requireAgent(router: Router, { client, namespace }: Session, name: string): Promise<void> {
  if (router.path !== undefined) {
    const message = `namespace ${namespace} is served by a Route, which has one place for all of its agents`;
    const remedy = `Make a Route with mcp.mode Single for ${name}, and name it with --route.`;
    throw new CliError(exitCodes.usage, message, remedy);
  }
  await orNotFound(
    client.get(agentResource, { namespace, name }),
    `there is no agent "${name}" in namespace ${namespace}`,
    '`ploinky get agents` lists them.',
  );
}

/** Who may not look is believed. */
async function orNotFound<T>(asked: Promise<T>, message: string, remedy: string): Promise<T> {
  return asked.catch((error: unknown) => {
    if (error instanceof ApiError && error.status === 404)
      throw new CliError(exitCodes.notFound, message, remedy);
    throw error;
  });
}

/** Its address for a client that speaks HTTP. */
export function urlOf({ router, path }: Endpoint): string {
  const url = new URL(`${router.url}${path}`);
  // Of a host that a Route names, the port stays the router's.
  if (router.host !== undefined && !router.isForwarded) url.host = withPort(router.host, url.port);
  return url.href;
}

function withPort(host: string, port: string): string {
  return port === '' || host.includes(':') ? host : `${host}:${port}`;
}
