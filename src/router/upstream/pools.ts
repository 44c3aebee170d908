import { type Dispatcher, Pool } from 'undici';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { RoutingTable } from '#routing/table.ts';
import type { Target, TargetEndpoint } from '#routing/target.ts';
import { connectProven } from '#wire/connect.ts';
import type { RouterKeys } from '../keys.ts';
import type { RouterLimits } from '../limits.ts';

/** Kept-alive, proven connections to agent-servers, one pool an instance. */
export interface Pools {
  of(target: Target, endpoint: TargetEndpoint): Dispatcher;
  /** Closes the pools of instances that the table no longer has; what runs on them runs to its end. */
  retain(table: RoutingTable): void;
  close(): Promise<void>;
}

export interface PoolsOptions {
  readonly keys: RouterKeys;
  readonly limits: RouterLimits;
  readonly random: Random;
  readonly log: Log;
}

export function createPools(options: PoolsOptions): Pools {
  const pools = new Map<string, Pool>();
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
        pool.close().catch((error) => options.log.debug('a pool did not close', { error }));
      }
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()));
      pools.clear();
    },
  };
}

function poolName(target: Target, endpoint: TargetEndpoint): string {
  return `${target.identity.uid} ${endpoint.uid} ${endpoint.address}`;
}

/** Deadlines of requests are given with each of them. */
function openPool(target: Target, endpoint: TargetEndpoint, options: PoolsOptions): Pool {
  const { keys, limits, random, log } = options;
  return new Pool('http://agent', {
    connections: limits.connectionsPerAgent,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: 30_000,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (_, callback) => {
      const proof = {
        address: endpoint.address,
        keys: keys.agent(target.identity),
        instance: endpoint.uid,
        timeoutMs: limits.connectTimeoutMs,
        random,
      };
      connectProven(proof).then(
        (socket) => callback(null, socket),
        (error) => {
          log.warn('cannot reach an agent', { agent: target.name, error: messageOf(error) });
          callback(error, null);
        },
      );
    },
  });
}
