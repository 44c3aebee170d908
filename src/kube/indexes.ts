import type { KubeObject } from '#api/meta.ts';
import { CodedError } from '#kit/errors.ts';

export type IndexFunctions<T> = Readonly<Record<string, (object: T) => readonly string[]>>;

/** Files objects under the uids of their owners. */
export function ownerIndex(object: KubeObject): readonly string[] {
  return object.metadata.ownerReferences?.map((owner) => owner.uid) ?? [];
}

/** Keys (see `keyText`) by namespace and by the values of named functions. Functions must be pure. */
export function createIndexes<T extends KubeObject>(functions: IndexFunctions<T>) {
  const byNamespace = new Map<string, Keys>();
  const named = new Map(
    Object.entries(functions).map(([name, values]) => [name, { values, entries: new Map<string, Keys>() }]),
  );
  return {
    add(text: string, object: T): void {
      file(byNamespace, object.metadata.namespace ?? '', text);
      for (const { values, entries } of named.values()) {
        for (const value of values(object)) file(entries, value, text);
      }
    },
    remove(text: string, object: T): void {
      unfile(byNamespace, object.metadata.namespace ?? '', text);
      for (const { values, entries } of named.values()) {
        for (const value of values(object)) unfile(entries, value, text);
      }
    },
    namespace: (namespace: string): Iterable<string> => keysOf(byNamespace, namespace),
    lookup(index: string, value: string): Iterable<string> {
      const found = named.get(index);
      if (found === undefined) throw new CodedError('NoSuchIndex', `the cache has no index "${index}"`);
      return keysOf(found.entries, value);
    },
  };
}

/** A single key stands for itself: of the thousands of values of an index nearly all have one, and a Set is large. */
type Keys = string | Set<string>;

function file(entries: Map<string, Keys>, value: string, text: string): void {
  const keys = entries.get(value);
  if (keys === undefined || keys === text) entries.set(value, text);
  else if (typeof keys === 'string') entries.set(value, new Set([keys, text]));
  else keys.add(text);
}

function unfile(entries: Map<string, Keys>, value: string, text: string): void {
  const keys = entries.get(value);
  if (typeof keys !== 'object') {
    if (keys === text) entries.delete(value);
    return;
  }
  keys.delete(text);
  if (keys.size === 0) entries.delete(value);
}

function keysOf(entries: ReadonlyMap<string, Keys>, value: string): Iterable<string> {
  const keys = entries.get(value) ?? [];
  return typeof keys === 'string' ? [keys] : keys;
}
