import type { Agent } from '#api/agent.ts';
import type { ConfigMap, Secret } from '#api/meta.ts';
import type { Driver } from '#drivers/driver.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import type { EventRecorder } from '#kube/events.ts';
import type { Informer } from '#kube/informer.ts';
import type { Metrics } from '#kube/metrics.ts';
import type { TaskListener } from '../task/listener.ts';
import type { NamespaceAccess } from './access.ts';
import type { AliasSource } from './aliases.ts';
import type { HostSettings } from './desired.ts';

export interface AgentControllerOptions {
  readonly client: Client;
  readonly agents: Informer<Agent>;
  readonly secrets: Informer<Secret>;
  readonly configMaps: Informer<ConfigMap>;
  readonly drivers: readonly Driver[];
  readonly host: HostSettings;
  readonly events: EventRecorder;
  /** Where Secrets and ConfigMaps are read a namespace at a time. Default: `secrets` and `configMaps` know them all. */
  readonly access?: NamespaceAccess;
  /** Namespace of the master key's Secret. */
  readonly homeNamespace: string;
  /** Where names are looked up that a namespace's Secret does not have. Default: nowhere. */
  readonly aliases?: AliasSources;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Agents reconciled at the same time. Default 8. */
  readonly concurrency?: number;
  /** Who is told what agent-servers say of tasks. */
  readonly taskListener?: TaskListener;
  /** How long an answer of `driver.available()` is believed, in milliseconds. Default 30,000. */
  readonly availabilityMs?: number;
}

/** What a workspace has besides its API. */
export interface AliasSources {
  readonly sources: readonly AliasSource[];
  /** Calls back when they may say something else. Returns the stop function. */
  onChange(listener: () => void): () => void;
}
