import type { KubeObject } from '#api/meta.ts';
import type { CacheEvent } from './cache.ts';
import type { Informer } from './informer.ts';
import { keyOf, type ObjectKey } from './key.ts';

/** Says that a key may need a reconcile. */
export type Enqueue = (key: ObjectKey) => void;

/** Something that knows when a key may need a reconcile. */
export interface Source {
  /** Begins to call `enqueue`, or `enqueueFirst` for keys that go ahead of those that wait. Returns the stop function. */
  start(enqueue: Enqueue, enqueueFirst: Enqueue): () => void;
  /** Resolves when what the reconciler reads from here is complete. */
  readonly synced: Promise<void>;
}

export interface InformerSourceOptions<T extends KubeObject> {
  /** The keys that an event concerns. Default: the object's own. */
  readonly keys?: (event: CacheEvent<T>) => readonly ObjectKey[];
  /** Events to look at. Default all. */
  readonly when?: (event: CacheEvent<T>) => boolean;
  /** Events whose keys go ahead of those that wait. Default none. */
  readonly first?: (event: CacheEvent<T>) => boolean;
}

/** The true changes of an informer's cache; starts the informer. */
export function informerSource<T extends KubeObject>(
  informer: Informer<T>,
  options: InformerSourceOptions<T> = {},
): Source {
  const keys = options.keys ?? ((event: CacheEvent<T>) => [keyOf(event.object)]);
  return {
    synced: informer.synced,
    start(enqueue, enqueueFirst) {
      informer.start();
      return informer.cache.subscribe((event) => {
        if (!(options.when?.(event) ?? true)) return;
        const put = options.first?.(event) ? enqueueFirst : enqueue;
        for (const key of keys(event)) put(key);
      });
    },
  };
}

/** For children: the keys of the owners of this kind, in the child's namespace, before and after the change. */
export function ownersOfKind<T extends KubeObject>(kind: string): (event: CacheEvent<T>) => ObjectKey[] {
  return (event) => {
    const namespace = event.object.metadata.namespace ?? '';
    const names = new Set<string>();
    for (const object of event.old === undefined ? [event.object] : [event.object, event.old]) {
      for (const owner of object.metadata.ownerReferences ?? []) {
        if (owner.kind === kind) names.add(owner.name);
      }
    }
    return [...names].map((name) => ({ namespace, name }));
  };
}

/**
 * False for updates of nothing but the status, which a reconciler mostly caused itself: spec (by generation),
 * labels, annotations, finalizers, owners and deletion count. Kinds without generation always count.
 */
export function exceptStatus<T extends KubeObject>(event: CacheEvent<T>): boolean {
  if (event.old === undefined) return true;
  const { metadata: next } = event.object;
  const { metadata: before } = event.old;
  if (next.generation === undefined || next.generation !== before.generation) return true;
  if (next.uid !== before.uid || next.deletionTimestamp !== before.deletionTimestamp) return true;
  const rest = (meta: typeof next) =>
    JSON.stringify([meta.labels, meta.annotations, meta.finalizers, meta.ownerReferences]);
  return rest(next) !== rest(before);
}

/** Anything with a callback (a driver's watch, a change stream): `subscribe` returns its stop function. */
export function callbackSource(
  subscribe: (enqueue: (key: ObjectKey) => void) => () => void,
  synced: Promise<void> = Promise.resolve(),
): Source {
  return { start: subscribe, synced };
}
