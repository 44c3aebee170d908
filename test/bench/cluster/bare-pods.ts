import { type Pod, podResource } from '#api/cluster-kinds.ts';
import type { Scope } from '../harness/scope.ts';
import { type Created, followUntil, inParallel, removeAgents, removeAll, waitForNone } from './agents.ts';
import { namespaceResource, type Stage } from './stage.ts';

/** What the controller sent for a pod, found in one that it made: without what the server and kwok added. */
export function templateOf(pod: Pod): Pod {
  const { labels = {}, annotations = {} } = pod.metadata;
  const { nodeName: _nodeName, ...spec } = pod.spec;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: '', labels, annotations },
    spec,
  };
}

/** The bare client: the same pods, nothing else, until all of them are Ready. */
export async function createPods(
  scope: Scope,
  { client }: Stage,
  options: { readonly namespace: string; readonly count: number; readonly template: Pod },
): Promise<Created> {
  const { namespace, count, template } = options;
  const all = await followUntil<Pod>(scope, client, {
    resource: podResource,
    namespace,
    count,
    holds: isReady,
  });
  const begun = performance.now();
  await inParallel({ count }, (index) =>
    client.create<Pod>(podResource, {
      ...template,
      metadata: { ...template.metadata, name: `agent-${index}-0-aaaaaaaa`, namespace },
    }),
  );
  const createdSeconds = (performance.now() - begun) / 1000;
  await all.reached();
  return { createdSeconds, readySeconds: (performance.now() - begun) / 1000 };
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') === true;
}

export async function removePods(stage: Stage, namespace: string): Promise<void> {
  await removeAll(stage, `/api/v1/namespaces/${namespace}/pods?gracePeriodSeconds=0`, podResource, namespace);
  await waitForNone(stage, podResource, namespace);
}

/** What a run that was interrupted left on a cluster that was kept. */
export async function sweep(stage: Stage): Promise<void> {
  const { items } = await stage.client.list(namespaceResource);
  const names = items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('bench-'));
  for (const name of names) {
    await removeAgents(stage, name);
    await removePods(stage, name);
  }
}
