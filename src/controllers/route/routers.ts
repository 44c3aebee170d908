import type { Lease } from '#api/core-kinds.ts';
import { routerConflictsAnnotation, routerTableAnnotation } from '#api/labels.ts';
import type { Clock } from '#kit/clock.ts';
import type { Cache, CacheEvent } from '#kube/cache.ts';
import { decodeConflicts, joinConflicts, type RouteConflicts } from '#routing/name-conflicts.ts';

/** What the routers say they serve, judged by this process's own clock: theirs may differ. */
export interface RouterView {
  /** Digest of each router that showed life lately, by its Lease's name. */
  readonly published: ReadonlyMap<string, string>;
  /** Those of them that have had another table than the wanted one for longer than it takes to follow a change. */
  readonly late: ReadonlySet<string>;
  /** Names that several agents of a Route have, as those routers have seen. */
  readonly conflicts: RouteConflicts;
}

export interface Routers {
  /** Now, against the digest that they should serve. */
  look(wanted: string): RouterView;
  /** Calls back when a router that says nothing counts as gone. Returns the stop function. */
  onGone(callback: () => void): () => void;
}

/** How long a router may take to follow a change before it counts as late, in milliseconds. */
export const catchUpMs = 10_000;
const defaultLeaseSeconds = 45;

interface Router {
  readonly digest: string;
  readonly conflicts: RouteConflicts;
  /** Monotonic milliseconds. */
  readonly until: number;
  behindSince: number | undefined;
}

/** A router that ended deletes its Lease; one that died says nothing, and its Lease only ages. */
export function watchRouters(leases: Cache<Lease>, clock: Clock): Routers {
  const routers = new Map<string, Router>();
  const callbacks = new Set<() => void>();
  let cancel = () => {};

  function dropDead(): void {
    const now = clock.monotonic();
    const before = routers.size;
    for (const [name, { until }] of routers) if (until <= now) routers.delete(name);
    if (routers.size < before) for (const callback of callbacks) callback();
    arm();
  }
  function arm(): void {
    cancel();
    cancel = () => {};
    const first = Math.min(...[...routers.values()].map(({ until }) => until));
    if (callbacks.size === 0 || !Number.isFinite(first)) return;
    cancel = clock.after(Math.max(0, first - clock.monotonic()), dropDead);
  }
  leases.subscribe(({ type, object }) => {
    const { name } = object.metadata;
    const digest = digestIn(object);
    if (type === 'deleted' || digest === undefined) routers.delete(name);
    else {
      const lifeMs = (object.spec?.leaseDurationSeconds ?? defaultLeaseSeconds) * 1000;
      const known = routers.get(name);
      const behindSince = known?.digest === digest ? known.behindSince : undefined;
      const conflicts = decodeConflicts(conflictsIn(object));
      routers.set(name, { digest, conflicts, until: clock.monotonic() + lifeMs, behindSince });
    }
    arm();
  });
  return {
    look(wanted) {
      const now = clock.monotonic();
      const live = [...routers].filter(([, { until }]) => until > now);
      for (const [, router] of live) {
        router.behindSince = router.digest === wanted ? undefined : (router.behindSince ?? now);
      }
      const late = live.filter(([, { behindSince = now }]) => now - behindSince >= catchUpMs);
      return {
        published: new Map(live.map(([name, { digest }]) => [name, digest])),
        late: new Set(late.map(([name]) => name)),
        conflicts: joinConflicts(live.map(([, router]) => router.conflicts)),
      };
    },
    onGone(callback) {
      callbacks.add(callback);
      arm();
      return () => {
        callbacks.delete(callback);
        arm();
      };
    },
  };
}

/** Renewals alone change nothing for Routes. */
export function publishedChanged({ object, old, type }: CacheEvent<Lease>): boolean {
  if (type !== 'updated') return digestIn(object) !== undefined;
  return digestIn(object) !== digestIn(old) || conflictsIn(object) !== conflictsIn(old);
}

function conflictsIn(lease: Lease | undefined): string | undefined {
  return lease?.metadata.annotations?.[routerConflictsAnnotation];
}

function digestIn(lease: Lease | undefined): string | undefined {
  return lease?.metadata.annotations?.[routerTableAnnotation];
}
