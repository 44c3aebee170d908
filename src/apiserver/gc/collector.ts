import type { OwnerReference } from '#api/meta.ts';
import type { Engine } from '../engine.ts';
import type { Kind, Storage } from '../kinds/kind.ts';
import { type ApiObject, cloneJson } from '../object.ts';
import type { Change } from '../store/history.ts';
import type { Transaction } from '../store/store.ts';
import { erase, type Propagation } from '../verbs/delete.ts';
import { isFinished } from '../verbs/update.ts';
import { OwnerIndex, ownersOf, type Place } from './index.ts';

const foreground = 'foregroundDeletion';
const orphan = 'orphan';

/**
 * Deletes what nobody owns any more, as Kubernetes' garbage collector: an object whose owners are all gone goes too;
 * foreground deletion waits for dependents that block it; orphaning cuts the references first.
 * Owners of kinds that this server does not serve count as present.
 */
export class GarbageCollector {
  readonly #engine: Engine;
  readonly #index = new OwnerIndex();
  readonly #kinds: Map<string, Kind>;
  readonly #waiting = new Map<string, Place>();
  #scheduled = false;
  #closed = false;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#kinds = new Map(
      engine.kinds.all.filter((kind) => kind.view === undefined).map((kind) => [kind.storage.id, kind]),
    );
    for (const kind of this.#kinds.values()) this.#load(kind);
    engine.store.onChange((storage, changes) => this.#note(storage, changes));
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
  }

  #load(kind: Kind): void {
    const { store } = this.#engine;
    for (const key of store.keys(kind.storage)) {
      const entry = store.get(kind.storage, key);
      if (entry === undefined) continue;
      this.#index.add(kind, key, entry.object);
      if (concerns(entry.object)) this.#enqueue({ kind, key });
    }
  }

  #note(storage: Storage, changes: readonly Change[]): void {
    const kind = this.#kinds.get(storage.id);
    if (kind === undefined) return;
    for (const change of changes) {
      this.#index.change(kind, change);
      if (change.after !== undefined && concerns(change.after.object))
        this.#enqueue({ kind, key: change.key });
      if (change.before === undefined) continue;
      const { uid = '' } = change.before.object.metadata;
      if (change.after === undefined) for (const place of this.#index.dependents(uid)) this.#enqueue(place);
      for (const owner of ownersOf(change.before.object)) this.#enqueueOwner(owner);
    }
  }

  #enqueueOwner(owner: OwnerReference): void {
    const place = this.#index.place(owner.uid);
    if (place !== undefined) this.#enqueue(place);
  }

  #enqueue(place: Place): void {
    this.#waiting.set(`${place.kind.storage.id} ${place.key}`, place);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#closed || this.#waiting.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      const places = [...this.#waiting.values()];
      this.#waiting.clear();
      this.#scheduled = false;
      if (this.#closed) return;
      const { store, log } = this.#engine;
      for (const place of places)
        store
          .transact((transaction) => this.#visit(transaction, place))
          .catch(
            (error: unknown) =>
              this.#closed || log.error('collecting garbage failed', { key: place.key, error }),
          );
    });
  }

  #visit(transaction: Transaction, { kind, key }: Place): void {
    const entry = transaction.get(kind.storage, key);
    if (entry === undefined) return;
    const { object } = entry;
    const finalizers = object.metadata.finalizers ?? [];
    if (object.metadata.deletionTimestamp !== undefined) {
      if (finalizers.includes(orphan)) this.#orphan(transaction, kind, key, object);
      else if (finalizers.includes(foreground)) this.#foreground(transaction, kind, key, object);
      return;
    }
    this.#judge(transaction, kind, key, object);
  }

  /** Sorts the owners of an object and deletes it, or cuts the references that no longer hold. */
  #judge(transaction: Transaction, kind: Kind, key: string, object: ApiObject): void {
    const owners = ownersOf(object).map((reference) => ({
      reference,
      state: this.#stateOf(transaction, object, reference),
    }));
    const solid = owners.filter((owner) => owner.state === 'solid');
    if (owners.length === 0 || solid.length === owners.length) return;
    const entry = transaction.get(kind.storage, key);
    if (entry === undefined) return;
    if (solid.length > 0) {
      const kept = cloneJson(object);
      kept.metadata.ownerReferences = solid.map((owner) => owner.reference);
      transaction.put(kind.storage, key, kept);
      return;
    }
    const waited = owners.some((owner) => owner.state === 'waiting');
    const hasDependents = this.#index.dependents(object.metadata.uid ?? '').length > 0;
    const policy: Propagation = waited && hasDependents ? 'Foreground' : 'Background';
    erase(this.#engine, transaction, kind, key, entry, {
      propagationPolicy: policy,
      uid: undefined,
      resourceVersion: undefined,
      dryRun: false,
    });
  }

  #stateOf(
    transaction: Transaction,
    object: ApiObject,
    reference: OwnerReference,
  ): 'solid' | 'gone' | 'waiting' {
    if (this.#engine.kinds.byKind(reference.apiVersion, reference.kind) === undefined) return 'solid';
    const place = this.#index.place(reference.uid);
    const owner = place === undefined ? undefined : transaction.get(place.kind.storage, place.key)?.object;
    if (owner === undefined || owner.metadata.name !== reference.name) return 'gone';
    if (owner.metadata.namespace !== undefined && owner.metadata.namespace !== object.metadata.namespace)
      return 'gone';
    const held = owner.metadata.finalizers?.includes(foreground) === true;
    return owner.metadata.deletionTimestamp !== undefined && held ? 'waiting' : 'solid';
  }

  #orphan(transaction: Transaction, kind: Kind, key: string, object: ApiObject): void {
    for (const place of this.#index.dependents(object.metadata.uid ?? '')) {
      const dependent = transaction.get(place.kind.storage, place.key);
      if (dependent === undefined) continue;
      const cut = cloneJson(dependent.object);
      const left = ownersOf(cut).filter((owner) => owner.uid !== object.metadata.uid);
      if (left.length === 0) delete cut.metadata.ownerReferences;
      else cut.metadata.ownerReferences = left;
      transaction.put(place.kind.storage, place.key, cut);
    }
    release(transaction, kind, key, object, orphan);
  }

  #foreground(transaction: Transaction, kind: Kind, key: string, object: ApiObject): void {
    let blocked = false;
    for (const place of this.#index.dependents(object.metadata.uid ?? '')) {
      const dependent = transaction.get(place.kind.storage, place.key)?.object;
      const reference = dependent && ownersOf(dependent).find((owner) => owner.uid === object.metadata.uid);
      if (dependent === undefined || reference === undefined) continue;
      if (reference.blockOwnerDeletion === true) blocked = true;
      if (dependent.metadata.deletionTimestamp === undefined) this.#enqueue(place);
    }
    if (!blocked) release(transaction, kind, key, object, foreground);
  }
}

/** True for objects the collector has to look at: with owners, or in a deletion that it drives. */
function concerns(object: ApiObject): boolean {
  if (ownersOf(object).length > 0) return true;
  const finalizers = object.metadata.finalizers ?? [];
  return (
    object.metadata.deletionTimestamp !== undefined &&
    (finalizers.includes(orphan) || finalizers.includes(foreground))
  );
}

/** Takes one finalizer away, and the object with it when that was the last. */
function release(
  transaction: Transaction,
  kind: Kind,
  key: string,
  object: ApiObject,
  finalizer: string,
): void {
  const released = cloneJson(object);
  released.metadata.finalizers = (released.metadata.finalizers ?? []).filter((one) => one !== finalizer);
  if (released.metadata.finalizers.length === 0) delete released.metadata.finalizers;
  if (isFinished(released)) transaction.remove(kind.storage, key);
  else transaction.put(kind.storage, key, released);
}
