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
  /**
   * Closes the pools of instances that take no more calls; what runs on them runs to its end, but for `limits.goneMs`
   * at most once the instance exists no more.
   */
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
  const pools = new Map<string, Held>();
  const retired = createRetired(options);
  return {
    of(target, endpoint) {
      const name = poolName(target, endpoint);
      const known = pools.get(name);
      if (known !== undefined) return known.pool;
      const pool = openPool(target, endpoint, options);
      pools.set(name, { pool, instance: endpoint.uid });
      return pool;
    },
    retain(table) {
      const { wanted, alive } = namesIn(table);
      for (const [name, held] of pools) {
        if (wanted.has(name)) continue;
        pools.delete(name);
        retired.add(held);
      }
      retired.look(alive);
    },
    async close() {
      await Promise.all([...[...pools.values()].map(({ pool }) => pool.close()), retired.close()]);
      pools.clear();
    },
  };
}

interface Held {
  readonly pool: AgentPool;
  readonly instance: string;
}

/** Pools that get no more calls and end with those that run. */
function createRetired({ clock, limits, log }: PoolsOptions) {
  /** With the function that takes the last deadline back, where one runs. */
  const pools = new Map<Held, (() => void) | undefined>();
  return {
    add(held: Held): void {
      pools.set(held, undefined);
      held.pool
        .retire()
        .catch((error) => log.debug('a pool did not close', { error }))
        .finally(() => {
          pools.get(held)?.();
          pools.delete(held);
        });
    },
    /** Calls on an instance that exists no more will never be answered, however long their own limit is. */
    look(alive: ReadonlySet<string>): void {
      for (const [held, cancel] of pools) {
        if (alive.has(held.instance) || cancel !== undefined) continue;
        pools.set(
          held,
          clock.after(limits.goneMs, () => void held.pool.close().catch(() => undefined)),
        );
      }
    },
    async close(): Promise<void> {
      for (const cancel of pools.values()) cancel?.();
      await Promise.all([...pools.keys()].map(({ pool }) => pool.close()));
    },
  };
}

/** Pools that get calls, and instances that exist, whether they get calls or not. */
function namesIn(table: RoutingTable): { readonly wanted: Set<string>; readonly alive: Set<string> } {
  const wanted = new Set<string>();
  const alive = new Set<string>();
  for (const target of table.targets.values()) {
    for (const endpoint of target.ready) wanted.add(poolName(target, endpoint));
    for (const instance of target.instances) alive.add(instance);
  }
  return { wanted, alive };
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
