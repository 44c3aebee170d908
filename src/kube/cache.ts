import type { KubeObject } from '#api/meta.ts';
import { type Log, silentLog } from '#kit/log.ts';
import { createIndexes, type IndexFunctions } from './indexes.ts';
import { keyText, keyTextOf, type ObjectKey } from './key.ts';
import { compareVersions } from './resource-version.ts';
import { createStringSharer } from './share-strings.ts';
import { createTombstones } from './tombstones.ts';

/**
 * What the API holds of one kind, as far as it has been told: plain JSON without managedFields.
 * READ ONLY: everybody gets the same objects. Copy (`structuredClone`) what you want to change.
 */
export interface Cache<T extends KubeObject> {
  readonly size: number;
  /** False until the first complete list. Before that an absent object means nothing. */
  readonly synced: boolean;
  get(key: ObjectKey): T | undefined;
  /** All objects, or one namespace's; in no particular order. */
  list(namespace?: string): T[];
  /** The objects that the named index files under `value`. Throws when there is no such index. */
  byIndex(index: string, value: string): T[];
  /**
   * Calls back on every true change, in order, at once with `added` for what is there already. Returns the stop
   * function. The callback must be quick and must not throw (if it does, that is logged).
   */
  subscribe(handler: (event: CacheEvent<T>) => void): () => void;
}

export type CacheEvent<T> =
  | { readonly type: 'added'; readonly object: T; readonly old?: undefined }
  | { readonly type: 'updated'; readonly object: T; readonly old: T }
  /** `object` is the last state known. */
  | { readonly type: 'deleted'; readonly object: T; readonly old?: undefined };

/** The writing side of a cache, for one reflector. */
export interface CacheWriter<T extends KubeObject> {
  /**
   * Takes an object from a watch or from the answer to a write. Ignored when the cache knows a newer or the same
   * version, or a later deletion, so that repeated and late events do no harm.
   */
  upsert(object: T): void;
  /** Takes a deletion; ignored when the cache knows a newer version of the object. */
  remove(object: T): void;
  /**
   * Begins to replace everything by a list. `lastSeen` is the newest version that the server gave before: a list
   * older than it comes from a server that was set back (restored from a backup), and then wins over everything.
   */
  replace(lastSeen?: string): Replacement<T>;
}

/** A list as its pages come. Objects whose version is unchanged stay and are not announced. */
export interface Replacement<T extends KubeObject> {
  /** `version` is the list's. The first page's version holds for all. */
  page(objects: readonly T[], version: string): void;
  /** Drops what the list did not hold. Without it (a list that failed) nothing is dropped. */
  finish(): void;
}

export interface CacheOptions<T extends KubeObject> {
  /** Named indexes, each giving the values to file an object under; see `ownerIndex`. */
  readonly indexes?: IndexFunctions<T>;
  /** Makes objects smaller before they are kept. May change its argument. managedFields are gone already. */
  readonly transform?: (object: T) => T;
  /** Freezes every object deeply, so that a wrong write throws. For tests. Default false. */
  readonly freeze?: boolean;
  readonly log?: Log;
}

export function createCache<T extends KubeObject>(options: CacheOptions<T> = {}): Cache<T> & CacheWriter<T> {
  return new ObjectCache(options);
}

class ObjectCache<T extends KubeObject> implements Cache<T>, CacheWriter<T> {
  readonly #objects = new Map<string, T>();
  readonly #indexes;
  readonly #handlers = new Set<(event: CacheEvent<T>) => void>();
  readonly #tombstones = createTombstones();
  readonly #share = createStringSharer();
  readonly #options: CacheOptions<T>;
  readonly #log: Log;
  synced = false;

  constructor(options: CacheOptions<T>) {
    this.#options = options;
    this.#indexes = createIndexes(options.indexes ?? {});
    this.#log = options.log ?? silentLog;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): T | undefined {
    return this.#objects.get(keyText(key));
  }

  list(namespace?: string): T[] {
    return namespace === undefined
      ? [...this.#objects.values()]
      : this.#pick(this.#indexes.namespace(namespace));
  }

  byIndex(index: string, value: string): T[] {
    return this.#pick(this.#indexes.lookup(index, value));
  }

  subscribe(handler: (event: CacheEvent<T>) => void): () => void {
    this.#handlers.add(handler);
    for (const object of this.#objects.values()) this.#tell(handler, { type: 'added', object });
    return () => this.#handlers.delete(handler);
  }

  upsert(object: T): void {
    const text = keyTextOf(object);
    const version = object.metadata.resourceVersion;
    const known = this.#objects.get(text)?.metadata.resourceVersion ?? this.#tombstones.versionOf(text);
    if (known !== undefined && isNotNewer(version, known)) return;
    this.#store(text, object);
  }

  remove(object: T): void {
    const text = keyTextOf(object);
    const version = object.metadata.resourceVersion;
    const known = this.#objects.get(text)?.metadata.resourceVersion;
    if ((compareVersions(version, known) ?? 0) < 0) return;
    this.#tombstones.bury(text, version);
    this.#drop(text);
  }

  replace(lastSeen?: string): Replacement<T> {
    const seen = new Set<string>();
    let version = '';
    let rewound = false;
    // Newer than the list: written by us, or seen on a watch, after the list was taken.
    const isAhead = (object: T) =>
      !rewound && (compareVersions(object.metadata.resourceVersion, version) ?? 0) > 0;
    return {
      page: (objects, pageVersion) => {
        if (version === '') {
          version = pageVersion;
          rewound = (compareVersions(version, lastSeen) ?? 0) < 0;
        }
        for (const object of objects) {
          const text = keyTextOf(object);
          seen.add(text);
          const known = this.#objects.get(text);
          if (known?.metadata.resourceVersion === object.metadata.resourceVersion) continue;
          if (known === undefined || !isAhead(known)) this.#store(text, object);
        }
      },
      finish: () => {
        for (const [text, object] of this.#objects) {
          if (!seen.has(text) && !isAhead(object)) this.#drop(text);
        }
        this.#tombstones.reset(version);
        this.synced = true;
      },
    };
  }

  #store(text: string, given: T): void {
    const object = this.#prepare(given);
    const old = this.#objects.get(text);
    if (old !== undefined) this.#indexes.remove(text, old);
    this.#objects.set(text, object);
    this.#indexes.add(text, object);
    this.#announce(old === undefined ? { type: 'added', object } : { type: 'updated', object, old });
  }

  #drop(text: string): void {
    const object = this.#objects.get(text);
    if (object === undefined) return;
    this.#objects.delete(text);
    this.#indexes.remove(text, object);
    this.#announce({ type: 'deleted', object });
  }

  #prepare(object: T): T {
    const metadata: T['metadata'] & { managedFields?: unknown } = object.metadata;
    if (metadata.managedFields !== undefined) {
      // A copy: an object that a member was deleted from takes three times the memory from then on.
      const { managedFields: _, ...rest } = metadata;
      object.metadata = rest as T['metadata'];
    }
    const kept = this.#share(this.#options.transform?.(object) ?? object);
    return this.#options.freeze ? deepFreeze(kept) : kept;
  }

  #pick(texts: Iterable<string>): T[] {
    const found: T[] = [];
    for (const text of texts) {
      const object = this.#objects.get(text);
      if (object !== undefined) found.push(object);
    }
    return found;
  }

  #announce(event: CacheEvent<T>): void {
    for (const handler of this.#handlers) this.#tell(handler, event);
  }

  #tell(handler: (event: CacheEvent<T>) => void, event: CacheEvent<T>): void {
    try {
      handler(event);
    } catch (error) {
      this.#log.error('a cache handler threw', { error, key: keyTextOf(event.object) });
    }
  }
}

function isNotNewer(version: string | undefined, known: string): boolean {
  const order = compareVersions(version, known);
  return order === undefined ? version === known : order <= 0;
}

function deepFreeze<V>(value: V): V {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}
