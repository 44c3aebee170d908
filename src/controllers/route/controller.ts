import type { Agent } from '#api/agent.ts';
import type { Lease } from '#api/core-kinds.ts';
import { routerTableAnnotation } from '#api/labels.ts';
import { type Route, routeResource } from '#api/route.ts';
import { unimplementedFields } from '#api/unimplemented.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Cache, CacheEvent } from '#kube/cache.ts';
import type { Client } from '#kube/client.ts';
import { type Controller, createController } from '#kube/controller.ts';
import type { Informer } from '#kube/informer.ts';
import { keyOf, type ObjectKey } from '#kube/key.ts';
import type { Metrics } from '#kube/metrics.ts';
import { settled } from '#kube/result.ts';
import { exceptStatus, informerSource } from '#kube/sources.ts';
import { buildRoutingTable, nameOf, type RouteVerdict, type RoutingTable } from '#routing/table.ts';
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

const fieldManager = 'ploinky-route-controller';

/** Writes what became of each Route. The routers build the same table from the same objects by themselves. */
export function createRouteController(options: RouteControllerOptions): Controller {
  const { routes, client, clock } = options;
  const table = createTable(options);
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
      const verdict = refusal(route) ?? table().verdicts.get(nameOf(route));
      if (verdict === undefined) return settled;
      const facts: RouterFacts = { wanted: table().digest, published: publishedBy(options.leases.cache) };
      const status = routeStatus(route, verdict, facts, new Date(clock.now()));
      const written = await client.applyStatus<Route>(routeResource, route, status, { fieldManager });
      if (written !== route) routes.observe(written);
      return settled;
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
    const served = routes.cache.list().filter((route) => refusal(route) === undefined);
    current ??= buildRoutingTable({ agents: agents.cache.list(), routes: served, homeNamespace, hostClaims });
    return current;
  };
}

function refusal(route: Route): RouteVerdict | undefined {
  const fields = unimplementedFields('Route', route.spec);
  if (fields.length === 0) return undefined;
  const message = fields.map(({ path, message }) => `${path} ${message}.`).join(' ');
  const resolved = { ok: false, reason: 'NotAccepted', message: 'The Route is not served.' };
  return { accepted: { ok: false, reason: 'NotImplemented', message }, resolved, agents: 0 };
}

function publishedBy(leases: Cache<Lease>): ReadonlyMap<string, string> {
  const published = new Map<string, string>();
  for (const lease of leases.list()) {
    const digest = lease.metadata.annotations?.[routerTableAnnotation];
    if (digest !== undefined) published.set(lease.metadata.name, digest);
  }
  return published;
}

function publishedChanged({ object, old, type }: CacheEvent<Lease>): boolean {
  const digestOf = (lease: Lease | undefined) => lease?.metadata.annotations?.[routerTableAnnotation];
  return type === 'updated' ? digestOf(object) !== digestOf(old) : digestOf(object) !== undefined;
}
