import type { OwnerReference } from '#api/meta.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiObject } from '../object.ts';
import type { Change } from '../store/history.ts';

/** Where an object is. */
export interface Place {
  readonly kind: Kind;
  readonly key: string;
}

/** Who depends on whom, by uid; kept up to date from the store's changes. */
export class OwnerIndex {
  readonly #places = new Map<string, Place>();
  readonly #dependents = new Map<string, Map<string, Place>>();

  /** Where the object with this uid is, if it exists. */
  place(uid: string): Place | undefined {
    return this.#places.get(uid);
  }

  /** Objects with an owner reference to this uid. */
  dependents(uid: string): Place[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  add(kind: Kind, key: string, object: ApiObject): void {
    const place = { kind, key };
    if (object.metadata.uid !== undefined) this.#places.set(object.metadata.uid, place);
    for (const { uid } of ownersOf(object)) {
      const set = this.#dependents.get(uid) ?? new Map<string, Place>();
      this.#dependents.set(uid, set);
      set.set(`${kind.storage.id} ${key}`, place);
    }
  }

  change(kind: Kind, change: Change): void {
    if (change.before !== undefined)
      this.#remove(kind, change.key, change.before.object, change.after === undefined);
    if (change.after !== undefined) this.add(kind, change.key, change.after.object);
  }

  #remove(kind: Kind, key: string, object: ApiObject, gone: boolean): void {
    if (gone && object.metadata.uid !== undefined) this.#places.delete(object.metadata.uid);
    for (const { uid } of ownersOf(object)) {
      const set = this.#dependents.get(uid);
      set?.delete(`${kind.storage.id} ${key}`);
      if (set?.size === 0) this.#dependents.delete(uid);
    }
  }
}

export function ownersOf(object: ApiObject): readonly OwnerReference[] {
  return object.metadata.ownerReferences ?? [];
}
