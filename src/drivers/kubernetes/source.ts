import type { KubeObject } from '#api/meta.ts';
import type { CacheEvent } from '#kube/cache.ts';
import type { Informer } from '#kube/informer.ts';
import type { ObjectKey } from '#kube/key.ts';

/** What is known of one kind, from whoever follows it: one informer of all, or one a namespace. */
export interface ObjectSource<T extends KubeObject> {
  get(key: ObjectKey): T | undefined;
  /** Whether the first list of that namespace is complete. Before that an absent object means nothing. */
  isSynced(namespace: string): boolean;
  /** Tells the cache what a write answered; see `Informer.observe`. */
  observe(object: T): void;
  subscribe(handler: (event: CacheEvent<T>) => void): () => void;
}

export function sourceOfInformer<T extends KubeObject>(
  informer: Pick<Informer<T>, 'cache' | 'observe'>,
): ObjectSource<T> {
  return {
    get: (key) => informer.cache.get(key),
    isSynced: () => informer.cache.synced,
    observe: (object) => informer.observe(object),
    subscribe: (handler) => informer.cache.subscribe(handler),
  };
}
