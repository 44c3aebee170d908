import type { KubeObject } from '#api/meta.ts';
import type { Log } from '#kit/log.ts';
import type { Cache, CacheEvent } from './cache.ts';

/** Several caches, one a namespace, that read like one. */
export interface JoinedCaches<T extends KubeObject> {
  /** An empty cache that fills from now on. */
  add(namespace: string, cache: Cache<T>): void;
  /** Its objects are no longer found; nobody is told that they went. */
  remove(namespace: string): void;
  /** The cache over all of them. */
  over(isSynced: () => boolean): Cache<T>;
}

export function joinCaches<T extends KubeObject>(log: Log): JoinedCaches<T> {
  const parts = new Map<string, { readonly cache: Cache<T>; readonly unsubscribe: () => void }>();
  const handlers = new Set<(event: CacheEvent<T>) => void>();

  function tell(handler: (event: CacheEvent<T>) => void, event: CacheEvent<T>): void {
    try {
      handler(event);
    } catch (error) {
      log.error('a subscriber of a cache failed', { error });
    }
  }
  const caches = () => [...parts.values()].map(({ cache }) => cache);
  return {
    add(namespace, cache) {
      const unsubscribe = cache.subscribe((event) => {
        for (const handler of handlers) tell(handler, event);
      });
      parts.set(namespace, { cache, unsubscribe });
    },
    remove(namespace) {
      parts.get(namespace)?.unsubscribe();
      parts.delete(namespace);
    },
    over: (isSynced) => ({
      get size() {
        return caches().reduce((sum, cache) => sum + cache.size, 0);
      },
      get synced() {
        return isSynced();
      },
      get: (key) => parts.get(key.namespace)?.cache.get(key),
      list(namespace) {
        if (namespace !== undefined) return parts.get(namespace)?.cache.list() ?? [];
        return caches().flatMap((cache) => cache.list());
      },
      byIndex: (index, value) => caches().flatMap((cache) => cache.byIndex(index, value)),
      subscribe(handler) {
        handlers.add(handler);
        for (const cache of caches()) {
          for (const object of cache.list()) tell(handler, { type: 'added', object });
        }
        return () => handlers.delete(handler);
      },
    }),
  };
}
