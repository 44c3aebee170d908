import type { Agent } from '#api/agent.ts';
import type { Lease } from '#api/core-kinds.ts';
import type { Route } from '#api/route.ts';
import type { Clock } from '#kit/clock.ts';
import type { Informer } from '#kube/informer.ts';
import { keyOf, type ObjectKey } from '#kube/key.ts';
import { exceptStatus, type Source } from '#kube/sources.ts';
import { concernsTable } from '#routing/concerns.ts';
import { buildRoutingTable, nameOf, type RouteVerdict, type RoutingTable } from '#routing/table.ts';
import type { Verdict } from '#routing/verdict.ts';
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
  let enqueue: (key: ObjectKey) => void = () => undefined;
  let table: RoutingTable | undefined;
  let verdicts: ReadonlyMap<string, RouteVerdict> = new Map();
  let word = '';
  const soon = createAlarm(clock, gatherMs, look);
  const late = createAlarm(clock, catchUpMs, look);

  function look(): View {
    const now = table ?? build(options);
    table = now;
    for (const route of routes.cache.list()) {
      if (now.verdicts === verdicts) break;
      const name = nameOf(route);
      if (!areEqual(verdicts.get(name), now.verdicts.get(name))) enqueue(keyOf(route));
    }
    verdicts = now.verdicts;
    const facts = { wanted: now.digest, ...routers.look(now.digest) };
    const before = word;
    word = wordOf(facts);
    if (word !== before) concernedBy(facts, now, routes.cache.list()).map(keyOf).forEach(enqueue);
    if (isWaiting(facts)) late.set();
    return { table: now, facts, word };
  }
  function changed(): void {
    table = undefined;
    soon.set();
  }
  function start(given: (key: ObjectKey) => void): () => void {
    enqueue = given;
    const stops = [
      agents.cache.subscribe((event) => exceptStatus(event) && changed()),
      routes.cache.subscribe((event) => {
        if (!concernsTable(event)) return;
        enqueue(keyOf(event.object));
        changed();
      }),
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

function build({ agents, routes, homeNamespace, hostClaims }: FollowerOptions): RoutingTable {
  return buildRoutingTable({
    agents: agents.cache.list(),
    routes: routes.cache.list(),
    homeNamespace,
    hostClaims,
  });
}

function wordOf({ wanted, published, late }: RouterFacts): string {
  if (published.size === 0) return 'none';
  const behind = [...published].filter(([, digest]) => digest !== wanted).map(([name]) => name);
  return `behind ${behind.sort().join()}, late ${[...late].sort().join()}`;
}

/** While no router is late, a Route that is served stays as it is; see `routeStatus`. */
function concernedBy({ published, late }: RouterFacts, { verdicts }: RoutingTable, routes: Route[]): Route[] {
  const isCalm = published.size > 0 && late.size === 0;
  const accepted = routes.filter((route) => verdicts.get(nameOf(route))?.accepted.ok);
  return isCalm ? accepted.filter((route) => !isServed(route)) : accepted;
}

function areEqual(left: RouteVerdict | undefined, right: RouteVerdict | undefined): boolean {
  if (left === undefined || right === undefined) return left === right;
  const same = (a: Verdict, b: Verdict) => a === b || (a.reason === b.reason && a.message === b.message);
  return (
    left.agents === right.agents && same(left.accepted, right.accepted) && same(left.resolved, right.resolved)
  );
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
