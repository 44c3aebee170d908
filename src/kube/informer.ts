import type { KubeObject, Resource } from '#api/meta.ts';
import { type Cache, type CacheOptions, createCache } from './cache.ts';
import { type Reflector, startReflector } from './reflector.ts';
import type { ReflectorOptions } from './reflector-options.ts';

export interface InformerOptions<T extends KubeObject>
  extends Omit<ReflectorOptions<T>, 'store'>,
    Omit<CacheOptions<T>, 'log'> {}

/** A cache that follows the API. */
export interface Informer<T extends KubeObject> {
  readonly resource: Resource;
  /** READ ONLY objects; see `Cache`. */
  readonly cache: Cache<T>;
  /** Begins to list and watch. Calling it again does nothing. */
  start(): void;
  /** Resolves after the first complete list. Never rejects; check `stop`'s caller for time limits. */
  readonly synced: Promise<void>;
  /**
   * Tells the cache what a write answered, before the watch does, so that the next read sees it. The object
   * becomes the cache's. Harmless when the watch was faster.
   */
  observe(object: T): void;
  stop(): Promise<void>;
}

export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  const cache = createCache<T>(options);
  const synced = Promise.withResolvers<void>();
  let reflector: Reflector | undefined;
  return {
    resource: options.resource,
    cache,
    synced: synced.promise,
    start() {
      if (reflector !== undefined) return;
      reflector = startReflector({ ...options, store: cache });
      reflector.synced.then(synced.resolve);
    },
    observe: (object) => cache.upsert(object),
    stop: async () => {
      await reflector?.stop();
    },
  };
}
