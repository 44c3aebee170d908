import type { ConfigMap, OwnerReference, Secret } from '#api/meta.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import type { Metrics } from '#kube/metrics.ts';
import type { WorkloadId } from '../workload.ts';
import type { PodSettings } from './settings.ts';
import type { ObjectSource } from './source.ts';

export interface KubernetesDriverOptions {
  readonly client: Client;
  readonly settings: PodSettings;
  /** Only this namespace. Default: every one. */
  readonly namespace?: string;
  /** Secrets and ConfigMaps of the namespaces that Agents are in, as the controllers follow them. */
  readonly secrets: ObjectSource<Secret>;
  readonly configMaps: ObjectSource<ConfigMap>;
  /** Owner of everything that goes with a workload. Default: its Agent. */
  readonly owner?: (id: WorkloadId) => OwnerReference;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Between telling that a pod ends and its deletion: routers leave it out meanwhile. Default 500 ms. */
  readonly noticeMs?: number;
}

export const defaults = { noticeMs: 500, roleBinding: 'ploinky-agent-secrets' };

/** Who owns the fields that the driver writes. */
export const fieldManager = 'ploinky-kubernetes-driver';
