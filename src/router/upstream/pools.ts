import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { RoutingTable } from '#routing/table.ts';
import type { Target, TargetEndpoint } from '#routing/target.ts';
import { connectProven } from '#wire/connect.ts';
import type { RouterKeys } from '../keys.ts';
import type { RouterLimits } from '../limits.ts';
import { type AgentPool, openAgentPool } from './agent-pool.ts';

/** Kept-alive, proven connections to agent-servers, one pool an instance. */
export interface Pools {
  of(target: Target, endpoint: TargetEndpoint): AgentPool;
  /** Closes the pools of instances that the table no longer has; what runs on them runs to its end. */
  retain(table: RoutingTable): void;
  close(): Promise<void>;
}

export interface PoolsOptions {
  readonly keys: RouterKeys;
  readonly limits: RouterLimits;
  readonly random: Random;
  readonly clock: Clock;
  readonly log: Log;
}

export function createPools(options: PoolsOptions): Pools {
  const pools = new Map<string, AgentPool>();
  return {
    of(target, endpoint) {
      const name = poolName(target, endpoint);
      const known = pools.get(name);
      if (known !== undefined) return known;
      const made = openPool(target, endpoint, options);
      pools.set(name, made);
      return made;
    },
    retain(table) {
      const wanted = new Set<string>();
      for (const target of table.targets.values()) {
        for (const endpoint of target.ready) wanted.add(poolName(target, endpoint));
      }
      for (const [name, pool] of pools) {
        if (wanted.has(name)) continue;
        pools.delete(name);
        pool.retire().catch((error) => options.log.debug('a pool did not close', { error }));
      }
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.close()));
      pools.clear();
    },
  };
}

function poolName(target: Target, endpoint: TargetEndpoint): string {
  return `${target.identity.uid} ${endpoint.uid} ${endpoint.address}`;
}

function openPool(target: Target, endpoint: TargetEndpoint, options: PoolsOptions): AgentPool {
  const { keys, limits, random, clock, log } = options;
  return openAgentPool({
    clock,
    connections: limits.connectionsPerAgent,
    keys: () => keys.agent(target.identity),
    connect: () =>
      connectProven({
        address: endpoint.address,
        keys: keys.agent(target.identity),
        instance: endpoint.uid,
        timeoutMs: limits.connectTimeoutMs,
        random,
      }),
    onFailure: (error) => log.warn('cannot reach an agent', { agent: target.name, error: messageOf(error) }),
  });
}
