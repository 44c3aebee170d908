import {
  type NetworkPolicy,
  networkPolicyResource,
  type PersistentVolumeClaim,
  type Pod,
  persistentVolumeClaimResource,
  podResource,
} from '#api/cluster-kinds.ts';
import { agentUidLabel } from '#api/labels.ts';
import type { KubeObject, Resource } from '#api/meta.ts';
import type { CacheEvent } from '#kube/cache.ts';
import { createInformer, type Informer } from '#kube/informer.ts';
import { keyTextOf } from '#kube/key.ts';
import type { WorkloadId } from '../workload.ts';
import { managedSelector, workloadIdOf } from './names.ts';
import { factsOf, type PodFacts } from './observe/pod-facts.ts';
import { fieldManager, type KubernetesDriverOptions } from './options.ts';
import { createTrimPolicy, trimPod } from './trim.ts';

/** Everything that the driver follows; of pods only what it reads is kept. */
export interface Caches {
  readonly pods: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly policies: Informer<NetworkPolicy>;
  readonly synced: Promise<unknown>;
  podsOf(uid: string): PodFacts[];
  claimsOf(uid: string): PersistentVolumeClaim[];
  /** Runs `action`, whose changes of the caches are this process's own and no news. */
  quietly<R>(action: () => R): R;
  /** The caller looks at what there is afterwards: that the watch brings the pod meanwhile is no news. Throws ApiError. */
  createPod(pod: Pod): Promise<void>;
  stop(): Promise<void>;
}

const uidIndex = 'uid';

function uidOf({ metadata }: KubeObject): string[] {
  const uid = metadata.labels?.[agentUidLabel];
  return uid === undefined ? [] : [uid];
}

/** Begins to follow; `onChange` hears of every change that others made and that may matter. */
export function startCaches(options: KubernetesDriverOptions, onChange: (id: WorkloadId) => void): Caches {
  const inform = <T extends KubeObject>(resource: Resource, transform?: (object: T) => T) =>
    createInformer<T>({
      ...options,
      ...(options.namespace === undefined ? {} : { namespace: options.namespace }),
      resource,
      labelSelector: managedSelector,
      indexes: { [uidIndex]: uidOf },
      ...(transform === undefined ? {} : { transform }),
    });
  const pods = inform<Pod>(podResource, trimPod);
  const claims = inform<PersistentVolumeClaim>(persistentVolumeClaimResource);
  const policies = inform<NetworkPolicy>(networkPolicyResource, createTrimPolicy());
  let isQuiet = false;
  const expected = new Set<string>();
  const isExpected = ({ type, object }: CacheEvent<Pod>) =>
    type === 'added' && expected.has(keyTextOf(object));
  const tell = (event: CacheEvent<KubeObject>, matters: boolean) => {
    const id = workloadIdOf(event.object);
    if (id !== undefined && matters && !isQuiet) onChange(id);
  };
  const stops = [
    pods.cache.subscribe((event) => tell(event, podMatters(event) && !isExpected(event))),
    claims.cache.subscribe((event) => tell(event, claimMatters(event))),
    policies.cache.subscribe((event) => tell(event, event.type !== 'added')),
    options.secrets.subscribe((event) => tell(event, event.type !== 'added')),
    options.configMaps.subscribe((event) => tell(event, event.type !== 'added')),
  ];
  const informers = [pods, claims, policies] as const;
  for (const informer of informers) informer.start();
  function quietly<R>(action: () => R): R {
    const before = isQuiet;
    isQuiet = true;
    try {
      return action();
    } finally {
      isQuiet = before;
    }
  }

  return {
    pods,
    claims,
    policies,
    quietly,
    synced: Promise.all(informers.map(({ synced }) => synced)),
    podsOf: (uid) => pods.cache.byIndex(uidIndex, uid).map(factsOf),
    claimsOf: (uid) => claims.cache.byIndex(uidIndex, uid),
    async createPod(pod) {
      const key = keyTextOf(pod);
      expected.add(key);
      try {
        const made = await options.client.create<Pod>(podResource, pod, { fieldManager });
        quietly(() => pods.observe(made));
      } finally {
        expected.delete(key);
      }
    },
    async stop() {
      for (const stop of stops) stop();
      await Promise.all(informers.map((informer) => informer.stop()));
    },
  };
}

function podMatters({ object, old }: CacheEvent<Pod>): boolean {
  return old === undefined || JSON.stringify(factsOf(old)) !== JSON.stringify(factsOf(object));
}

function claimMatters({ object, old }: CacheEvent<PersistentVolumeClaim>): boolean {
  const view = ({ metadata, status }: PersistentVolumeClaim) =>
    JSON.stringify([status?.phase, metadata.deletionTimestamp, metadata.labels, metadata.annotations]);
  return old === undefined || view(old) !== view(object);
}
