import type { Agent } from '#api/agent.ts';
import type { Lease } from '#api/core-kinds.ts';
import { type Route, routeResource } from '#api/route.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { type Controller, createController } from '#kube/controller.ts';
import type { Informer } from '#kube/informer.ts';
import { keyOf, type ObjectKey } from '#kube/key.ts';
import type { Metrics } from '#kube/metrics.ts';
import { again, settled } from '#kube/result.ts';
import { callbackSource, exceptStatus, informerSource } from '#kube/sources.ts';
import { buildRoutingTable, nameOf, type RoutingTable } from '#routing/table.ts';
import { catchUpMs, publishedChanged, watchRouters } from './routers.ts';
import { isWaiting, type RouterFacts, routeStatus } from './status.ts';

export interface RouteControllerOptions {
  readonly client: Client;
  readonly agents: Informer<Agent>;
  readonly routes: Informer<Route>;
  readonly leases: Informer<Lease>;
  readonly homeNamespace: string;
  /** Hosts that a namespace may claim; see TableInput. */
  readonly hostClaims: Readonly<Record<string, readonly string[]>>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
}

const fieldManager = 'ploinky-route-controller';

/** Writes what became of each Route. The routers build the same table from the same objects by themselves. */
export function createRouteController(options: RouteControllerOptions): Controller {
  const { routes, client, clock } = options;
  const table = createTable(options);
  const routers = watchRouters(options.leases.cache, clock);
  const all = () => routes.cache.list().map(keyOf);
  return createController({
    name: 'route',
    clock,
    random: options.random,
    log: options.log,
    ...(options.metrics && { metrics: options.metrics }),
    sources: [
      informerSource(routes, { when: exceptStatus, keys: all }),
      informerSource(options.agents, { when: exceptStatus, keys: all }),
      informerSource(options.leases, { when: publishedChanged, keys: all }),
      callbackSource((enqueue) => routers.onGone(() => all().forEach(enqueue))),
    ],
    async reconcile(key: ObjectKey) {
      const route = routes.cache.get(key);
      if (route === undefined || route.metadata.deletionTimestamp !== undefined) return settled;
      const verdict = table().verdicts.get(nameOf(route));
      if (verdict === undefined) return settled;
      const wanted = table().digest;
      const facts: RouterFacts = { wanted, ...routers.look(wanted) };
      const status = routeStatus(route, verdict, facts, new Date(clock.now()));
      const written = await client.applyStatus<Route>(routeResource, route, status, { fieldManager });
      if (written !== route) routes.observe(written);
      return isWaiting(facts) ? again(catchUpMs) : settled;
    },
  });
}

/** The table of what the caches hold now, built once for any number of reads between two changes. */
function createTable({
  agents,
  routes,
  homeNamespace,
  hostClaims,
}: RouteControllerOptions): () => RoutingTable {
  let current: RoutingTable | undefined;
  const drop = () => {
    current = undefined;
  };
  agents.cache.subscribe(drop);
  routes.cache.subscribe(drop);
  return () => {
    current ??= buildRoutingTable({
      agents: agents.cache.list(),
      routes: routes.cache.list(),
      homeNamespace,
      hostClaims,
    });
    return current;
  };
}
