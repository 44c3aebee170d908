import type { Agent } from '#api/agent.ts';
import type { Lease } from '#api/core-kinds.ts';
import type { Route } from '#api/route.ts';
import type { Clock } from '#kit/clock.ts';
import type { CacheEvent } from '#kube/cache.ts';
import type { Informer } from '#kube/informer.ts';
import { keyOf, keyText, type ObjectKey } from '#kube/key.ts';
import { exceptStatus, type Source } from '#kube/sources.ts';
import { changesBetween } from '#routing/changes.ts';
import { concernsTable } from '#routing/concerns.ts';
import { createTableKeeper } from '#routing/keeper.ts';
import type { RouteConflicts } from '#routing/name-conflicts.ts';
import type { RoutingTable } from '#routing/table.ts';
import { catchUpMs, publishedChanged, watchRouters } from './routers.ts';
import { isServed, isWaiting, type RouterFacts } from './status.ts';

export interface FollowerOptions {
  readonly agents: Informer<Agent>;
  readonly routes: Informer<Route>;
  readonly leases: Informer<Lease>;
  readonly homeNamespace: string;
  /** Hosts that a namespace may claim; see TableInput. */
  readonly hostClaims: Readonly<Record<string, readonly string[]>>;
  readonly clock: Clock;
}

/** What every Route's status is made from. */
export interface View {
  readonly table: RoutingTable;
  readonly facts: RouterFacts;
  /** What the routers do. While it is the same, so is `Programmed` of every Route. */
  readonly word: string;
}

export interface Follower {
  /** As the caches have it now. */
  look(): View;
  /** Enqueues the Routes whose status may have become another one, and only those. */
  readonly source: Source;
}

/** Changes that come together are looked at once; a single one waits this long, in milliseconds. */
const gatherMs = 3;

/** Keeps the table of all Agents and Routes and what the routers serve of it. */
export function createFollower(options: FollowerOptions): Follower {
  const { agents, routes, leases, clock } = options;
  const routers = watchRouters(leases.cache, clock);
  const keeper = createTableKeeper(options);
  /** Routes whose status does not say that they are served. */
  const unserved = new Map<string, ObjectKey>();
  let enqueue: (key: ObjectKey) => void = () => undefined;
  let table = keeper.table();
  let word = '';
  let conflicts: RouteConflicts = new Map();
  const soon = createAlarm(clock, gatherMs, look);
  const late = createAlarm(clock, catchUpMs, look);

  function look(): View {
    const before = table;
    table = keeper.table();
    for (const name of changesBetween(before, table).verdicts) enqueue(parseName(name));
    const facts = { wanted: table.digest, ...routers.look(table.digest) };
    const wordBefore = word;
    word = wordOf(facts);
    if (word !== wordBefore) concernedBy(facts).forEach(enqueue);
    for (const name of otherConflicts(conflicts, facts.conflicts)) enqueue(parseName(name));
    conflicts = facts.conflicts;
    if (isWaiting(facts)) late.set();
    return { table, facts, word };
  }
  /** While no router is late, a Route that is served stays as it is; see `routeStatus`. */
  function concernedBy({ published, late }: RouterFacts): ObjectKey[] {
    const isCalm = published.size > 0 && late.size === 0;
    const keys = isCalm ? [...unserved.values()] : routes.cache.list().map(keyOf);
    return keys.filter((key) => table.verdicts.get(keyText(key))?.accepted.ok);
  }
  function agentChanged(event: CacheEvent<Agent>): void {
    if (!exceptStatus(event)) return;
    if (event.type === 'deleted') keeper.removeAgent(event.object);
    else keeper.putAgent(event.object);
    soon.set();
  }
  function routeChanged(event: CacheEvent<Route>): void {
    const key = keyOf(event.object);
    if (event.type === 'deleted' || isServed(event.object)) unserved.delete(keyText(key));
    else unserved.set(keyText(key), key);
    if (!concernsTable(event)) return;
    if (event.type === 'deleted') keeper.removeRoute(event.object);
    else keeper.putRoute(event.object);
    enqueue(key);
    soon.set();
  }
  function start(given: (key: ObjectKey) => void): () => void {
    enqueue = given;
    const stops = [
      agents.cache.subscribe(agentChanged),
      routes.cache.subscribe(routeChanged),
      leases.cache.subscribe((event) => publishedChanged(event) && soon.set()),
      routers.onGone(soon.set),
      soon.close,
      late.close,
    ];
    for (const informer of [agents, routes, leases]) informer.start();
    return () => {
      for (const stop of stops) stop();
    };
  }
  const synced = Promise.all([agents.synced, routes.synced, leases.synced]).then(() => undefined);
  return { look, source: { start, synced } };
}

/** Routes of which other conflicts are known now. */
function otherConflicts(before: RouteConflicts, now: RouteConflicts): string[] {
  const names = new Set([...before.keys(), ...now.keys()]);
  return [...names].filter((name) => JSON.stringify(before.get(name)) !== JSON.stringify(now.get(name)));
}

function parseName(text: string): ObjectKey {
  const slash = text.indexOf('/');
  return { namespace: text.slice(0, slash), name: text.slice(slash + 1) };
}

function wordOf({ wanted, published, late }: RouterFacts): string {
  if (published.size === 0) return 'none';
  const behind = [...published].filter(([, digest]) => digest !== wanted).map(([name]) => name);
  return `behind ${behind.sort().join()}, late ${[...late].sort().join()}`;
}

interface Alarm {
  /** Does nothing while it is set already. */
  readonly set: () => void;
  /** For good. */
  readonly close: () => void;
}

function createAlarm(clock: Clock, ms: number, act: () => void): Alarm {
  let cancel: (() => void) | undefined;
  let isClosed = false;
  return {
    set() {
      if (isClosed) return;
      cancel ??= clock.after(ms, () => {
        cancel = undefined;
        act();
      });
    },
    close() {
      isClosed = true;
      cancel?.();
    },
  };
}
