import type { Agent } from '#api/agent.ts';
import type { Lease } from '#api/core-kinds.ts';
import type { ConfigMap, KubeObject, Resource, Secret } from '#api/meta.ts';
import {
  agentResource,
  configMapResource,
  leaseResource,
  routeResource,
  secretResource,
  taskResource,
} from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import type { Task } from '#api/task.ts';
import type { Driver } from '#drivers/driver.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import type { Controller } from '#kube/controller.ts';
import { createEventRecorder } from '#kube/events.ts';
import type { IndexFunctions } from '#kube/indexes.ts';
import { createInformer, type Informer } from '#kube/informer.ts';
import type { Metrics } from '#kube/metrics.ts';
import { masterSecretName } from '#wire/keys.ts';
import type { NamespaceAccess } from './agent/access.ts';
import { createAgentController } from './agent/controller.ts';
import type { HostSettings } from './agent/desired.ts';
import { agentIndexes } from './agent/indexes.ts';
import type { AliasSources } from './agent/options.ts';
import { removeOrphans } from './agent/orphans.ts';
import { createAuthController } from './auth/controller.ts';
import { awaitMasterKey } from './master-key.ts';
import { createRouteController, routeIndexes } from './route/controller.ts';
import { createAttempts } from './task/attempts.ts';
import { createTaskController } from './task/controller.ts';
import { taskIndexes } from './task/indexes.ts';

export interface ManagerOptions {
  readonly client: Client;
  readonly drivers: readonly Driver[];
  readonly host: HostSettings;
  /** Where the master key lives, and whose agents appear without a Route. */
  readonly homeNamespace: string;
  /** Which process this is, in Events and Leases: a pod's or a host's name. */
  readonly identity: string;
  /** Namespace to watch. Default: all. */
  readonly namespace?: string;
  readonly hostClaims?: Readonly<Record<string, readonly string[]>>;
  /** Where names of `valueFrom.alias` are looked up besides the Secrets of the API. Default: nowhere. */
  readonly aliases?: AliasSources;
  /** Agents reconciled at the same time. Default 8. */
  readonly concurrency?: number;
  /** Gives the start up, which waits for as long as the API does not answer. */
  readonly signal?: AbortSignal;
  /** Informers that a driver reads too; the manager starts and stops them. Default: ones of its own. */
  readonly informers?: SharedInformers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
}

export interface SharedInformers {
  /** Made with `agentIndexes`. */
  readonly agents: Informer<Agent>;
  /** Of at least the home namespace and every namespace that has Agents. */
  readonly secrets: Informer<Secret>;
  readonly configMaps: Informer<ConfigMap>;
  /** How far these two are, when they read a namespace at a time. */
  readonly access?: NamespaceAccess;
}

export interface Manager {
  /**
   * Waits for running reconciles, whose signals abort after `graceMs` (default 30,000), then lets go of the drivers.
   * Workloads keep running.
   */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/** Starts every controller over one set of informers. Resolves when all caches have synced; rejects by the signal. */
export async function startManager(options: ManagerOptions): Promise<Manager> {
  await awaitMasterKey(options.client, options.homeNamespace, options);
  const inform = informerFactory(options);
  const { homeNamespace, hostClaims = {} } = options;
  const { agents, secrets, configMaps, access } = options.informers ?? ownInformers(inform);
  const routes = inform<Route>(routeResource, routeIndexes);
  const tasks = inform<Task>(taskResource, taskIndexes);
  const attempts = createAttempts(options.clock, tasks.cache);
  const leases = inform<Lease>(leaseResource, {}, homeNamespace);
  const events = createEventRecorder({
    ...options,
    component: 'ploinky-controller',
    instance: options.identity,
  });
  const controllers = [
    createAgentController({
      ...options,
      ...(access && { access }),
      ...{ agents, secrets, configMaps, events, taskListener: attempts },
    }),
    createRouteController({
      ...options,
      agents,
      routes,
      secrets,
      configMaps,
      leases,
      homeNamespace,
      hostClaims,
    }),
    createAuthController({ ...options, ...(access && { access }), agents, routes, secrets, configMaps }),
    createTaskController({ ...options, tasks, agents, attempts, events }),
  ];
  const unsubscribe = secrets.cache.subscribe(({ type, object }) => {
    const isHome = object.metadata.namespace === homeNamespace;
    if (type === 'deleted' && isHome && object.metadata.name === masterSecretName)
      void replaceMasterKey(options);
  });
  const informers = [agents, routes, tasks, secrets, configMaps, leases];
  const stop: Manager['stop'] = async (stopOptions) => {
    unsubscribe();
    await Promise.all(controllers.map((controller) => controller.stop(stopOptions)));
    await events.stop();
    await Promise.all(informers.map((informer) => informer.stop()));
    await Promise.all(options.drivers.map((driver) => driver.close()));
  };
  await startAll(controllers, stop, options.signal);
  await removeOrphans(options.drivers, agents.cache, options.log);
  return { stop };
}

async function startAll(
  controllers: readonly Controller[],
  stop: Manager['stop'],
  signal: AbortSignal | undefined,
): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  const abort = () => aborted.resolve();
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  await Promise.race([Promise.all(controllers.map((controller) => controller.start())), aborted.promise]);
  signal?.removeEventListener('abort', abort);
  if (!signal?.aborted) return;
  await stop({ graceMs: 0 });
  throw signal.reason;
}

/** Without a master key nothing starts and nothing is called; a deleted one is replaced, and every agent restarts. */
async function replaceMasterKey(options: ManagerOptions): Promise<void> {
  options.log.warn('the master key was deleted, making another one');
  try {
    await awaitMasterKey(options.client, options.homeNamespace, options);
  } catch (error) {
    options.log.error('the master key cannot be made', { error });
  }
}

type Inform = ReturnType<typeof informerFactory>;

function ownInformers(inform: Inform): SharedInformers {
  return {
    agents: inform<Agent>(agentResource, agentIndexes),
    secrets: inform<Secret>(secretResource),
    configMaps: inform<ConfigMap>(configMapResource),
  };
}

function informerFactory({ client, clock, random, log, metrics, namespace: scope }: ManagerOptions) {
  return <T extends KubeObject>(
    resource: Resource,
    indexes: IndexFunctions<T> = {},
    namespace = scope,
  ): Informer<T> =>
    createInformer<T>({
      client,
      resource,
      clock,
      random,
      log,
      indexes,
      ...(metrics && { metrics }),
      ...(namespace !== undefined && { namespace }),
    });
}
