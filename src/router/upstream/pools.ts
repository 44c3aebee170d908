import type { Clock } from '#kit/clock.ts';
import { messageOf } from '#kit/errors.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { changesBetween } from '#routing/changes.ts';
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
  /** Of each Agent, by `<namespace>/<name>`, then by instance and address. */
  const pools = new Map<string, Map<string, Held>>();
  const retired = createRetired(options);
  let table: RoutingTable | undefined;
  /** Closes those of an Agent that are for nothing now. */
  function retainOf(agent: string, now: RoutingTable): void {
    const held = pools.get(agent);
    if (held === undefined) return;
    const target = now.targets.get(agent);
    const wanted = new Set(target?.ready.map((endpoint) => poolName(target, endpoint)));
    for (const [name, one] of held) {
      if (wanted.has(name)) continue;
      held.delete(name);
      retired.add(one);
    }
    if (held.size === 0) pools.delete(agent);
  }
  return {
    of(target, endpoint) {
      const agent = agentName(target);
      const name = poolName(target, endpoint);
      const own = pools.get(agent) ?? new Map<string, Held>();
      const known = own.get(name);
      if (known !== undefined) return known.pool;
      const pool = openPool(target, endpoint, options);
      pools.set(agent, own.set(name, { pool, agent, instance: endpoint.uid }));
      return pool;
    },
    retain(now) {
      const agents = table === undefined ? [...pools.keys()] : changesBetween(table, now).targets;
      for (const agent of agents) retainOf(agent, now);
      table = now;
      retired.look(now);
    },
    async close() {
      const open = [...pools.values()].flatMap((own) => [...own.values()]);
      await Promise.all([...open.map(({ pool }) => pool.close()), retired.close()]);
      pools.clear();
    },
  };
}

interface Held {
  readonly pool: AgentPool;
  /** `<namespace>/<name>`. */
  readonly agent: string;
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
    look({ targets }: RoutingTable): void {
      for (const [held, cancel] of pools) {
        const isAlive = targets.get(held.agent)?.instances.includes(held.instance);
        if (isAlive || cancel !== undefined) continue;
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

function agentName({ identity }: Target): string {
  return `${identity.namespace}/${identity.name}`;
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
