import { randomUUID } from 'node:crypto';
import type { KubeObject } from '#api/meta.ts';

export type FakeObject = KubeObject & { spec?: unknown; status?: unknown; [field: string]: unknown };

export interface StoredEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly version: number;
  readonly object: FakeObject;
}

/** An answer that is not success: HTTP status and metav1.StatusReason. */
export class Refusal extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/**
 * One collection as an API server keeps it: versions from one counter, history for watches, conflict on stale
 * versions. What it does not do: validation, field ownership, defaulting.
 */
export class FakeStore {
  readonly #objects = new Map<string, FakeObject>();
  readonly #listeners = new Set<(event: StoredEvent) => void>();
  readonly #counter: { next(): number; current(): number };
  history: StoredEvent[] = [];
  /** Versions up to this one are forgotten: a watch from before gets 410. */
  compactedTo = 0;

  constructor(counter: { next(): number; current(): number }) {
    this.#counter = counter;
  }

  get version(): number {
    return this.#counter.current();
  }

  list(namespace: string | undefined): FakeObject[] {
    const all = [...this.#objects.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
    return namespace === undefined ? all : all.filter((object) => object.metadata.namespace === namespace);
  }

  get(namespace: string, name: string): FakeObject {
    const object = this.#objects.get(`${namespace}/${name}`);
    if (object === undefined) throw new Refusal(404, 'NotFound', `"${name}" not found`);
    return object;
  }

  create(given: FakeObject): FakeObject {
    const metadata = { ...given.metadata };
    if (!metadata.name && metadata.generateName)
      metadata.name = metadata.generateName + randomUUID().slice(0, 5);
    const key = `${metadata.namespace ?? ''}/${metadata.name}`;
    if (this.#objects.has(key)) throw new Refusal(409, 'AlreadyExists', `"${metadata.name}" already exists`);
    metadata.uid = randomUUID();
    metadata.generation = 1;
    return this.#save('ADDED', key, { ...given, metadata });
  }

  /** Replaces everything but identity; `change` makes the new object from the current one. */
  change(namespace: string, name: string, change: (current: FakeObject) => FakeObject): FakeObject {
    const current = this.get(namespace, name);
    const next = change(structuredClone(current));
    const asked = next.metadata.resourceVersion;
    if (asked !== undefined && asked !== current.metadata.resourceVersion) {
      throw new Refusal(409, 'Conflict', 'the object has been modified');
    }
    const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
    const generation = (current.metadata.generation ?? 0) + (same(current.spec, next.spec) ? 0 : 1);
    next.metadata = { ...next.metadata, generation };
    if (current.metadata.uid !== undefined) next.metadata.uid = current.metadata.uid;
    if (
      same(current, {
        ...next,
        metadata: { ...next.metadata, resourceVersion: current.metadata.resourceVersion },
      })
    ) {
      return current;
    }
    return this.#save('MODIFIED', `${namespace}/${name}`, next);
  }

  remove(namespace: string, name: string): FakeObject {
    const object = this.get(namespace, name);
    this.#objects.delete(`${namespace}/${name}`);
    const version = this.#counter.next();
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } };
    this.#emit({ type: 'DELETED', version, object: last });
    return last;
  }

  subscribe(listener: (event: StoredEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  compact(): void {
    this.compactedTo = this.version;
    this.history = [];
  }

  #save(type: 'ADDED' | 'MODIFIED', key: string, object: FakeObject): FakeObject {
    const version = this.#counter.next();
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    const saved = { ...object, metadata: { ...metadata, managedFields: [{ manager: 'fake' }] } };
    this.#objects.set(key, saved);
    this.#emit({ type, version, object: saved });
    return saved;
  }

  #emit(event: StoredEvent): void {
    this.history.push(event);
    for (const listener of this.#listeners) listener(event);
  }
}
