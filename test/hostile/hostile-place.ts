import { join } from 'node:path';
import { routeResource } from '#api/resources.ts';
import type { Route, RouteSpecInput } from '#api/route.ts';
import { startAgentServer } from '../bench/harness/agent-server.ts';
import { lineOf, type Scope } from '../bench/harness/scope.ts';
import { type Place, startPlace } from './place.ts';
import { lists } from './programs/hostile-lists.ts';

/** A place with agents that mean harm, one a mode, each behind a Route of its own beside the honest one. */
export interface HostilePlace extends Place {
  /** Calls of the hostile agents that are still being answered. */
  open(): Promise<number>;
}

export const modes: readonly string[] = Object.keys(lists);

/** Of the Route of a mode: this agent and the honest one, with names and URIs rewritten. */
export function routeOf(mode: string): string {
  return `/r-${mode}/mcp`;
}

/** The mode `calls` also behind the product's agent-server, as the agent `behind`. */
export async function startHostilePlace(scope: Scope): Promise<HostilePlace> {
  const place = await startPlace(scope);
  const { api } = place;
  const orders = await Promise.all(
    modes.map(async (mode) => {
      const { agent, key } = await api.createAgent(`h-${mode}`);
      const socket = join(scope.folder, `${mode}.sock`);
      const secret = key.secret.toString('base64url');
      return { agent, order: { mode, socket, secret, kid: key.kid, instance: `${mode}-1` } };
    }),
  );
  const program = join(import.meta.dirname, 'programs/hostile-agent.ts');
  const input = JSON.stringify(orders.map(({ order }) => order));
  const started = scope.start(program, [], { input });
  const ports = JSON.parse(await lineOf(started.process, 'ports ')) as Record<string, number>;
  for (const { agent, order } of orders) {
    await api.publish(agent, { uid: order.instance, address: `unix:${order.socket}` });
    await createRoute(place, `r-${order.mode}`, [`h-${order.mode}`, 'honest']);
  }
  const behind = await api.createAgent('behind');
  const mcp = { upstream: { port: ports['calls'] ?? 0, path: '/mcp' } };
  const server = await startAgentServer(scope, { mcp, ...behind });
  await api.publish(behind.agent, { uid: server.instance, address: `unix:${server.socket}` });
  await createRoute(place, 'r-behind', ['behind', 'honest']);
  return {
    ...place,
    async open() {
      const answer = await fetch(`http://127.0.0.1:${ports['calls']}/state`);
      return ((await answer.json()) as { open: number }).open;
    },
  };
}

async function createRoute({ api }: Place, name: string, agents: readonly string[]): Promise<void> {
  const spec: RouteSpecInput = {
    agents: agents.map((agent) => ({ name: agent })),
    paths: [`/${name}`],
    mcp: { naming: 'Always' },
  };
  await api.client.create<Route>(routeResource, {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Route',
    metadata: { name, namespace: 'default' },
    spec,
  } as Route);
}
