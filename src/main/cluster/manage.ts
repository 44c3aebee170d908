import type { Agent } from '#api/agent.ts';
import type { ConfigMap, KubeObject, Secret } from '#api/meta.ts';
import { agentResource, configMapResource, secretResource } from '#api/resources.ts';
import { agentIndexes } from '#controllers/agent/indexes.ts';
import { type SharedInformers, startManager } from '#controllers/manager.ts';
import { createKubernetesDriver } from '#drivers/kubernetes/driver.ts';
import type { PodSettings } from '#drivers/kubernetes/settings.ts';
import type { ObjectSource } from '#drivers/kubernetes/source.ts';
import { trimSecret } from '#drivers/kubernetes/trim.ts';
import type { Client } from '#kube/client.ts';
import { createInformer } from '#kube/informer.ts';
import {
  createNamespacedInformers,
  followNamespacesOf,
  type NamespacedInformers,
} from '#kube/namespaced-informers.ts';
import type { LeaderWork } from './leading.ts';
import type { Program } from './program.ts';

/** Helm keeps each release in a Secret of its own, of up to 1 MiB; no Agent refers to one. */
const notHelm = 'type!=helm.sh/release.v1';
export interface ManageOptions {
  readonly program: Program;
  /** Refuses writes once this process no longer leads. */
  readonly client: Client;
  readonly settings: PodSettings;
  readonly hostClaims: Readonly<Record<string, readonly string[]>>;
  /** Agents reconciled at the same time. */
  readonly concurrency: number;
  /** After a request to stop, a reconcile that still runs is told to give up after this long. */
  readonly stopGraceMs: number;
  /** Gives the start up. */
  readonly signal: AbortSignal;
}

/** The leader's work: every controller, over pods of the cluster. */
export async function manageCluster({
  program,
  client,
  settings,
  hostClaims,
  concurrency,
  stopGraceMs,
  signal,
}: ManageOptions): Promise<LeaderWork> {
  const { namespace, podName, ...common } = program;
  const scope = namespace === undefined ? {} : { namespace };
  const informers = createInformers(program, client);
  const driver = createKubernetesDriver({
    ...common,
    ...scope,
    client,
    settings,
    secrets: sourceOf(informers.secrets),
    configMaps: sourceOf(informers.configMaps),
  });
  const manager = await startManager({
    ...common,
    ...scope,
    client,
    drivers: [driver],
    host: { codeRoot: '/' },
    identity: podName,
    hostClaims,
    concurrency,
    signal,
    informers: { ...informers, access: informers },
  });
  return {
    async stop() {
      await manager.stop({ graceMs: stopGraceMs });
      informers.unfollow();
    },
  };
}

interface ClusterInformers extends SharedInformers {
  readonly secrets: NamespacedInformers<Secret>;
  readonly configMaps: NamespacedInformers<ConfigMap>;
  readonly unfollow: () => void;
}

/** Secrets and ConfigMaps are read where there are Agents, and the master key's namespace; nowhere else. */
function createInformers(program: Program, client: Client): ClusterInformers {
  const { clock, random, log, metrics, namespace, homeNamespace } = program;
  const common = { client, clock, random, log, metrics };
  const agents = createInformer<Agent>({
    ...common,
    ...(namespace !== undefined && { namespace }),
    resource: agentResource,
    indexes: agentIndexes,
  });
  const secrets = createNamespacedInformers<Secret>({
    ...common,
    resource: secretResource,
    pinned: [homeNamespace],
    fieldSelector: notHelm,
    transform: trimSecret,
  });
  const configMaps = createNamespacedInformers<ConfigMap>({
    ...common,
    resource: configMapResource,
    pinned: [],
  });
  const unfollow = followNamespacesOf(agents.cache, [secrets, configMaps]);
  return { agents, secrets, configMaps, unfollow };
}

function sourceOf<T extends KubeObject>(informers: NamespacedInformers<T>): ObjectSource<T> {
  return {
    get: (key) => informers.cache.get(key),
    isSynced: (namespace) => informers.state(namespace) === 'synced',
    observe: (object) => informers.observe(object),
    subscribe: (handler) => informers.cache.subscribe(handler),
  };
}
