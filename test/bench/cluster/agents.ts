import type { Agent } from '#api/agent.ts';
import { networkPolicyResource, podResource } from '#api/cluster-kinds.ts';
import { findCondition } from '#api/conditions.ts';
import { managedByLabel, managedByValue } from '#api/labels.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import { agentResource, secretResource } from '#api/resources.ts';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { createInformer } from '#kube/informer.ts';
import { type Scope, until } from '../harness/scope.ts';
import type { Ground, Stage } from './stage.ts';

/** Requests under way at the same time, of whoever creates things. */
export const concurrency = 16;
const longestMs = 400_000;

export interface Created {
  /** Seconds from the first creation: to the last one's answer, and to the last thing being as it should. */
  readonly createdSeconds: number;
  readonly readySeconds: number;
}

/** Creates Agents, at most `perSecond`, and waits until the status of every one of them is current and Ready. */
export async function createAgents(
  scope: Scope,
  { client }: Ground,
  options: { readonly namespace: string; readonly count: number; readonly perSecond?: number },
): Promise<Created> {
  const { namespace, count } = options;
  const all = await followUntil<Agent>(scope, client, {
    resource: agentResource,
    namespace,
    count,
    holds: isReady,
  });
  const begun = performance.now();
  await inParallel(options, (index) => client.create<Agent>(agentResource, agentNumber(namespace, index)));
  const createdSeconds = (performance.now() - begun) / 1000;
  await all.reached();
  return { createdSeconds, readySeconds: (performance.now() - begun) / 1000 };
}

function isReady({ metadata, status }: Agent): boolean {
  const condition = findCondition(status?.conditions, 'Ready');
  return condition?.status === 'True' && condition.observedGeneration === metadata.generation;
}

/** With one tool and one variable: Secret, NetworkPolicy and Pod are its children. */
export function agentNumber(namespace: string, index: number): Agent {
  return {
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: { name: `agent-${index}`, namespace },
    spec: {
      env: [{ name: 'INDEX', value: String(index) }],
      mcp: { tools: [{ name: `tool-${index}`, command: ['/bin/cat'] }] },
    },
  } as Agent;
}

/** Calls `act` with 0 to count - 1, not before its turn when there is a rate. */
export async function inParallel(
  { count, perSecond }: { readonly count: number; readonly perSecond?: number },
  act: (index: number) => Promise<unknown>,
): Promise<void> {
  const begun = performance.now();
  let next = 0;
  const work = async () => {
    for (let index = next++; index < count; index = next++) {
      const due = perSecond === undefined ? 0 : begun + (index * 1000) / perSecond - performance.now();
      if (due > 0) await systemClock.sleep(due);
      await act(index);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
}

interface Goal<T> {
  readonly resource: Resource;
  readonly namespace: string;
  readonly count: number;
  readonly holds: (object: T) => boolean;
}

/** Watches from now on; `reached` resolves when it has held for `count` objects, each at some time. */
export async function followUntil<T extends KubeObject>(
  scope: Scope,
  client: Client,
  { resource, namespace, count, holds }: Goal<T>,
): Promise<{ reached(): Promise<void> }> {
  const common = { client, clock: systemClock, random: systemRandom, log: silentLog };
  const informer = createInformer<T>({ ...common, resource, namespace });
  const done = Promise.withResolvers<void>();
  const names = new Set<string>();
  informer.cache.subscribe(({ type, object }) => {
    if (type !== 'deleted' && holds(object)) names.add(object.metadata.name);
    if (names.size >= count) done.resolve();
  });
  scope.defer(() => informer.stop());
  informer.start();
  await informer.synced;
  const late = () => new Error(`${names.size} of ${count} ${resource.plural} in ${longestMs / 1000} s`);
  const cancel = systemClock.after(longestMs, () => done.reject(late()));
  // It is awaited later.
  done.promise.catch(() => undefined);
  return {
    async reached() {
      await done.promise.finally(cancel);
      await informer.stop();
    },
  };
}

const childKinds = [podResource, secretResource, networkPolicyResource];

export async function countChildren(
  { client }: Ground,
  namespace: string,
): Promise<Readonly<Record<string, number>>> {
  const labelSelector = `${managedByLabel}=${managedByValue}`;
  const lists = childKinds.map(async (resource) => {
    const { items } = await client.list(resource, { namespace, labelSelector });
    return [resource.plural, items.length] as const;
  });
  return Object.fromEntries(await Promise.all(lists));
}

/** Deletes every Agent of a namespace and waits until the cluster has collected what was theirs. Seconds. */
export async function removeAgents(stage: Stage, namespace: string): Promise<number> {
  const begun = performance.now();
  await removeAll(
    stage,
    `/apis/ploinky.dev/v1alpha1/namespaces/${namespace}/agents`,
    agentResource,
    namespace,
  );
  for (const resource of childKinds) await waitForNone(stage, resource, namespace);
  return (performance.now() - begun) / 1000;
}

export async function removeAll(
  stage: Stage,
  path: string,
  resource: Resource,
  namespace: string,
): Promise<void> {
  // The server gives a request a minute, in which it may not be done with thousands.
  await until(
    `no ${resource.plural} in ${namespace}`,
    async () => {
      await stage.cluster.tryKubectl(['delete', '--raw', path]);
      const { items } = await stage.client.list(resource, { namespace, limit: 1 });
      return items.length === 0 ? true : undefined;
    },
    longestMs,
  );
}

/** Secrets and the like that are nobody's stay. */
export async function waitForNone({ client }: Stage, resource: Resource, namespace: string): Promise<void> {
  const labelSelector = `${managedByLabel}=${managedByValue}`;
  await until(
    `no ${resource.plural} are left in ${namespace}`,
    async () => {
      const { items } = await client.list(resource, { namespace, labelSelector, limit: 1 });
      if (items.length === 0) return true;
      await systemClock.sleep(300);
      return undefined;
    },
    longestMs,
  );
}
