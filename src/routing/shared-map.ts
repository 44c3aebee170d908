/**
 * A map that is never changed, of which another one with some changes shares almost all: it costs the changes, not
 * the size. Two that hold the same are deeply equal, whatever they came from. In no particular order.
 */
export class SharedMap<V> implements ReadonlyMap<string, V> {
  readonly size: number;
  /** Each key is in the bucket of its hash; an empty bucket is undefined. */
  readonly buckets: readonly (ReadonlyMap<string, V> | undefined)[];

  private constructor(buckets: readonly (ReadonlyMap<string, V> | undefined)[], size: number) {
    this.buckets = buckets;
    this.size = size;
  }

  static empty<V>(): SharedMap<V> {
    return new SharedMap<V>(noBuckets, 0);
  }

  /** With these values instead of what was there; undefined: without that key. */
  with(changes: Iterable<readonly [key: string, value: V | undefined]>): SharedMap<V> {
    const buckets = this.buckets.slice();
    const own = new Map<number, Map<string, V>>();
    for (const [key, value] of changes) {
      const at = hashOf(key) % buckets.length;
      const bucket = own.get(at) ?? new Map(buckets[at]);
      own.set(at, bucket);
      if (value === undefined) bucket.delete(key);
      else bucket.set(key, value);
    }
    let size = this.size;
    for (const [at, bucket] of own) {
      size += bucket.size - (buckets[at]?.size ?? 0);
      buckets[at] = bucket.size === 0 ? undefined : bucket;
    }
    return new SharedMap(buckets, size);
  }

  get(key: string): V | undefined {
    return this.buckets[hashOf(key) % this.buckets.length]?.get(key);
  }

  has(key: string): boolean {
    return this.buckets[hashOf(key) % this.buckets.length]?.has(key) ?? false;
  }

  *entries(): MapIterator<[string, V]> {
    for (const bucket of this.buckets) if (bucket !== undefined) yield* bucket;
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<V> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }

  forEach(act: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this.entries()) act(value, key, this);
  }
}

const noBuckets: readonly undefined[] = Array(512).fill(undefined);

/** FNV-1a. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
