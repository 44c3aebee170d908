import type { Agent } from '#api/agent.ts';
import type { ObjectMeta, Secret } from '#api/meta.ts';
import type { CacheEvent } from '#kube/cache.ts';
import type { createController } from '#kube/controller.ts';
import type { Informer } from '#kube/informer.ts';
import type { ObjectKey } from '#kube/key.ts';
import { callbackSource, exceptStatus, informerSource } from '#kube/sources.ts';
import { masterSecretName } from '#wire/keys.ts';
import { isTrue } from '../conditions.ts';
import { configMapIndex, dependencyIndex, secretIndex, usesAliases } from './indexes.ts';
import type { AgentControllerOptions } from './options.ts';

/** What brings an Agent back to the reconciler: itself, and whatever it depends on. `onEnqueue` is told how others do. */
export function createSources(
  options: AgentControllerOptions,
  onEnqueue: (enqueue: (key: ObjectKey) => void) => void,
): Parameters<typeof createController>[0]['sources'] {
  const { agents, secrets, configMaps, drivers } = options;
  return [
    informerSource(agents, { when: exceptStatus, first: isNew }),
    informerSource(agents, {
      when: readinessChanged,
      keys: (event) => filedUnder(agents, dependencyIndex, event),
    }),
    informerSource(secrets, { keys: (event) => agentsOfSecret(options, event) }),
    informerSource(configMaps, { keys: (event) => filedUnder(agents, configMapIndex, event) }),
    ...drivers.map((driver) => callbackSource((enqueue) => driver.watch(enqueue))),
    callbackSource((enqueue) => {
      onEnqueue(enqueue);
      return () => onEnqueue(() => undefined);
    }),
    callbackSource(
      (enqueue) =>
        options.aliases?.onChange(() => {
          for (const agent of agents.cache.list()) if (usesAliases(agent)) enqueue(keyOfMeta(agent));
        }) ?? nothing,
    ),
    callbackSource(
      (enqueue) => options.access?.secrets.onAccess(enqueueAgentsOf(agents, enqueue)) ?? nothing,
    ),
  ];
}

/** In a burst, whoever has nothing yet goes ahead of those whose second status is due. */
function isNew(event: CacheEvent<Agent>): boolean {
  return event.old === undefined && event.object.status === undefined;
}

const nothing = () => undefined;

function enqueueAgentsOf(agents: Informer<Agent>, enqueue: (key: ObjectKey) => void) {
  return (namespace: string) => {
    for (const key of agents.cache.list().map(keyOfMeta)) if (key.namespace === namespace) enqueue(key);
  };
}

/** A new master key concerns every Agent. */
function agentsOfSecret(options: AgentControllerOptions, event: CacheEvent<Secret>): ObjectKey[] {
  const { name, namespace } = event.object.metadata;
  const isMaster = name === masterSecretName && namespace === options.homeNamespace;
  if (isMaster) return options.agents.cache.list().map(keyOfMeta);
  return filedUnder(options.agents, secretIndex, event);
}

function filedUnder(
  agents: Informer<Agent>,
  index: string,
  { object }: CacheEvent<{ metadata: ObjectMeta }>,
): ObjectKey[] {
  const value = `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
  return agents.cache.byIndex(index, value).map(keyOfMeta);
}

function keyOfMeta({ metadata }: { metadata: ObjectMeta }): ObjectKey {
  return { namespace: metadata.namespace ?? '', name: metadata.name };
}

function readinessChanged({ object, old, type }: CacheEvent<Agent>): boolean {
  if (type !== 'updated') return true;
  return isTrue(object.status?.conditions, 'Ready') !== isTrue(old?.status?.conditions, 'Ready');
}
