import type { Agent } from '#api/agent.ts';
import type { ConfigMap, Secret } from '#api/meta.ts';
import { agentResource, configMapResource, routeResource, secretResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { createInformer } from '#kube/informer.ts';
import type { Metrics } from '#kube/metrics.ts';
import { authSecretName, logoutsName } from '#routing/access.ts';
import { concernsTable } from '#routing/concerns.ts';
import { createTableKeeper, type TableKeeper } from '#routing/keeper.ts';
import { type MasterKey, masterSecretName, nextMasterKeys } from '#wire/keys.ts';
import type { LogoutStore } from './auth/logouts.ts';
import type { PeopleSource } from './auth/people.ts';
import type { KeySource, TableSource } from './sources.ts';

export interface FollowOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Where the master key is, and whose agents appear without any Route. */
  readonly homeNamespace: string;
  /** The only namespace whose Agents and Routes count. Default: all. */
  readonly namespace?: string;
  /** Hosts that other namespaces may claim. Default: none. */
  readonly hostClaims?: Readonly<Record<string, readonly string[]>>;
}

export interface Following {
  readonly tables: TableSource;
  readonly keys: KeySource;
  readonly people: PeopleSource;
  readonly logouts: LogoutStore;
  /** Resolves when tables and keys are what the API had; never rejects. */
  readonly synced: Promise<void>;
  stop(): Promise<void>;
}

/** Changes that come together make one table; a single one waits this long, in milliseconds. */
const gatherMs = 3;
/** As long as not everything was listed: a table that lacks most of it is worth little. */
const incompleteGatherMs = 100;

/** Keeps table and keys as the API has them, by watches. Starts empty; never throws for what the API says. */
export function followApi(options: FollowOptions): Following {
  const { client, clock, random, log, metrics } = options;
  const common = { client, clock, random, log, ...(metrics !== undefined && { metrics }) };
  const scope = options.namespace === undefined ? {} : { namespace: options.namespace };
  const agents = createInformer<Agent>({ ...common, ...scope, resource: agentResource });
  const routes = createInformer<Route>({ ...common, ...scope, resource: routeResource });
  const secrets = createInformer<Secret>({
    ...common,
    resource: secretResource,
    namespace: options.homeNamespace,
    fieldSelector: `metadata.name=${masterSecretName}`,
  });
  const people = followPeople(options);
  const { homeNamespace, hostClaims = {} } = options;
  const keeper = createTableKeeper({ homeNamespace, hostClaims });
  const tables = gatherTables(options, keeper);
  let masters: readonly MasterKey[] = [];
  const stops = [
    agents.cache.subscribe(({ type, object }) => {
      if (type === 'deleted') keeper.removeAgent(object);
      else keeper.putAgent(object);
      tables.changed();
    }),
    routes.cache.subscribe((event) => {
      if (!concernsTable(event)) return;
      if (event.type === 'deleted') keeper.removeRoute(event.object);
      else keeper.putRoute(event.object);
      tables.changed();
    }),
    secrets.cache.subscribe((event) => {
      if (event.type === 'deleted') return;
      masters = nextMasterKeys(event.object, masters, log);
    }),
  ];
  for (const informer of [agents, routes, secrets]) informer.start();
  const complete = Promise.all([agents.synced, routes.synced]).then(tables.complete);
  return {
    tables: tables.source,
    keys: { current: () => masters },
    people: people.source,
    logouts: people.logouts,
    synced: Promise.all([complete, secrets.synced, people.synced]).then(() => undefined),
    async stop() {
      for (const stop of stops) stop();
      tables.stop();
      await Promise.all([agents.stop(), routes.stop(), secrets.stop(), people.stop()]);
    },
  };
}

const nothing: Readonly<Record<string, string>> = {};

/** Who may log in, and which sessions ended: one Secret and one ConfigMap, each by its name. */
function followPeople({ client, clock, random, log, metrics, homeNamespace: namespace }: FollowOptions) {
  const common = { client, clock, random, log, ...(metrics !== undefined && { metrics }), namespace };
  const secrets = createInformer<Secret>({
    ...common,
    resource: secretResource,
    fieldSelector: `metadata.name=${authSecretName}`,
  });
  const maps = createInformer<ConfigMap>({
    ...common,
    resource: configMapResource,
    fieldSelector: `metadata.name=${logoutsName}`,
  });
  const key = { namespace, name: logoutsName };
  const source: PeopleSource = {
    current: () => secrets.cache.get({ namespace, name: authSecretName })?.data ?? nothing,
  };
  const logouts: LogoutStore = {
    current: () => maps.cache.get(key)?.data ?? nothing,
    async write(data) {
      const patch = { type: 'merge', body: { data } } as const;
      maps.observe(
        await client.patch<ConfigMap>(configMapResource, key, patch, { fieldManager: 'ploinky-router' }),
      );
    },
  };
  secrets.start();
  maps.start();
  return {
    source,
    logouts,
    synced: Promise.all([secrets.synced, maps.synced]),
    stop: () => Promise.all([secrets.stop(), maps.stop()]),
  };
}

interface GatheredTables {
  readonly source: TableSource;
  readonly changed: () => void;
  readonly complete: () => void;
  readonly stop: () => void;
}

function gatherTables({ clock, log }: FollowOptions, keeper: TableKeeper): GatheredTables {
  const callbacks = new Set<() => void>();
  let table = keeper.table();
  let synced = false;
  let cancel: (() => void) | undefined;
  const publish = () => {
    cancel = undefined;
    const before = table;
    table = keeper.table();
    if (table.digest !== before.digest)
      log.info('serving a new table', { digest: table.digest, notes: table.notes });
    for (const callback of callbacks) callback();
  };
  const look = () => {
    cancel = undefined;
    if (keeper.table() !== table) publish();
  };
  return {
    changed() {
      cancel ??= clock.after(synced ? gatherMs : incompleteGatherMs, look);
    },
    complete() {
      synced = true;
      cancel?.();
      publish();
    },
    stop: () => cancel?.(),
    source: {
      current: () => table,
      get synced() {
        return synced;
      },
      subscribe(callback) {
        callbacks.add(callback);
        return () => callbacks.delete(callback);
      },
    },
  };
}
