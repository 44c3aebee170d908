import type { Agent } from '#api/agent.ts';
import type { Lease } from '#api/core-kinds.ts';
import { routerTableAnnotation } from '#api/labels.ts';
import { type Route, routeResource } from '#api/route.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Cache, CacheEvent } from '#kube/cache.ts';
import type { Client } from '#kube/client.ts';
import { type Controller, createController } from '#kube/controller.ts';
import type { Informer } from '#kube/informer.ts';
import { keyOf, type ObjectKey } from '#kube/key.ts';
import type { Metrics } from '#kube/metrics.ts';
import { again, settled } from '#kube/result.ts';
import { exceptStatus, informerSource } from '#kube/sources.ts';
import { buildRoutingTable, nameOf, type RoutingTable } from '#routing/table.ts';
import { type RouterFacts, routeStatus } from './status.ts';

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

/** A router that dies says nothing: what its Lease tells is looked at again this often, in milliseconds. */
const leaseCheckMs = 30_000;
const fieldManager = 'ploinky-route-controller';

/** Writes what became of each Route. The routers build the same table from the same objects by themselves. */
export function createRouteController(options: RouteControllerOptions): Controller {
  const { routes, client, clock } = options;
  const table = createTable(options);
  const routers = watchRouters(options.leases.cache, clock);
  return createController({
    name: 'route',
    clock,
    random: options.random,
    log: options.log,
    ...(options.metrics && { metrics: options.metrics }),
    sources: [
      informerSource(routes, { when: exceptStatus, keys: () => routes.cache.list().map(keyOf) }),
      informerSource(options.agents, { when: exceptStatus, keys: () => routes.cache.list().map(keyOf) }),
      informerSource(options.leases, { when: publishedChanged, keys: () => routes.cache.list().map(keyOf) }),
    ],
    async reconcile(key: ObjectKey) {
      const route = routes.cache.get(key);
      if (route === undefined || route.metadata.deletionTimestamp !== undefined) return settled;
      const verdict = table().verdicts.get(nameOf(route));
      if (verdict === undefined) return settled;
      const facts: RouterFacts = { wanted: table().digest, published: routers.published() };
      const status = routeStatus(route, verdict, facts, new Date(clock.now()));
      const written = await client.applyStatus<Route>(routeResource, route, status, { fieldManager });
      if (written !== route) routes.observe(written);
      return again(leaseCheckMs);
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

interface RouterView {
  /** Digest of each router that showed life lately, by its Lease's name. */
  published(): ReadonlyMap<string, string>;
}

/** Whether a router lives is judged by how long this process has seen its Lease unchanged: clocks differ. */
function watchRouters(leases: Cache<Lease>, clock: Clock): RouterView {
  const seen = new Map<string, { digest: string; until: number }>();
  leases.subscribe(({ type, object }) => {
    const digest = digestIn(object);
    if (type === 'deleted' || digest === undefined) seen.delete(object.metadata.name);
    else {
      const lifeMs = (object.spec?.leaseDurationSeconds ?? 45) * 1000;
      seen.set(object.metadata.name, { digest, until: clock.monotonic() + lifeMs });
    }
  });
  return {
    published() {
      const now = clock.monotonic();
      return new Map(
        [...seen].filter(([, { until }]) => until > now).map(([name, { digest }]) => [name, digest]),
      );
    },
  };
}

function digestIn(lease: Lease | undefined): string | undefined {
  return lease?.metadata.annotations?.[routerTableAnnotation];
}

function publishedChanged({ object, old, type }: CacheEvent<Lease>): boolean {
  return type === 'updated' ? digestIn(object) !== digestIn(old) : digestIn(object) !== undefined;
}
