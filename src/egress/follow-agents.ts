import type { Agent } from '#api/agent.ts';
import type { Secret } from '#api/meta.ts';
import { agentResource, secretResource } from '#api/resources.ts';
import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { Client } from '#kube/client.ts';
import { createInformer } from '#kube/informer.ts';
import { type MasterKey, masterSecretName, nextMasterKeys } from '#wire/keys.ts';
import { lookupInAgents } from './agents.ts';
import type { CallerLookup } from './callers.ts';

export interface FollowAgentsOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Where the master key is. */
  readonly homeNamespace: string;
  /** The only namespace whose Agents count. Default: all. */
  readonly namespace?: string | undefined;
}

export interface FollowedAgents {
  readonly lookup: CallerLookup;
  /** True once Agents and a master key are known. */
  readonly ready: boolean;
  stop(): Promise<void>;
}

/** Follows, by watches, what the proxy has to know: the Agents and the master key, nothing else. */
export function followAgents(options: FollowAgentsOptions): FollowedAgents {
  const { client, clock, random, log, homeNamespace, namespace } = options;
  const common = { client, clock, random, log };
  const agents = createInformer<Agent>({
    ...common,
    resource: agentResource,
    ...(namespace !== undefined && { namespace }),
    transform: withoutStatus,
  });
  const secrets = createInformer<Secret>({
    ...common,
    resource: secretResource,
    namespace: homeNamespace,
    fieldSelector: `metadata.name=${masterSecretName}`,
  });
  let keys: readonly MasterKey[] = [];
  const unsubscribe = secrets.cache.subscribe(({ type, object }) => {
    if (type !== 'deleted') keys = nextMasterKeys(object, keys, log);
  });
  agents.start();
  secrets.start();
  return {
    lookup: lookupInAgents({
      agent: (of, name) => agents.cache.get({ namespace: of, name }),
      masterKeys: () => keys,
    }),
    get ready() {
      return agents.cache.synced && keys.length > 0;
    },
    async stop() {
      unsubscribe();
      await Promise.all([agents.stop(), secrets.stop()]);
    },
  };
}

/** The proxy needs names, uids and rules. */
function withoutStatus(agent: Agent): Agent {
  delete agent.status;
  return agent;
}
