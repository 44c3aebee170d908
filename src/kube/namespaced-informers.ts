import type { KubeObject, Resource } from '#api/meta.ts';
import type { BackoffOptions } from '#kit/backoff.ts';
import { messageOf } from '#kit/errors.ts';
import type { Cache } from './cache.ts';
import { isForbidden } from './errors.ts';
import { createInformer, type Informer, type InformerOptions } from './informer.ts';
import { type JoinedCaches, joinCaches } from './joined-cache.ts';

/** How far a namespace is known. `forbidden`: this process may not read it; it asks again from time to time. */
export type NamespaceState = 'unfollowed' | 'waiting' | 'synced' | 'forbidden';

/**
 * One informer over a few namespaces that come and go, for a kind that a process may read in those only. Reading
 * and subscribing go over all of them at once. `synced` is that of the pinned namespaces.
 */
export interface NamespacedInformers<T extends KubeObject> extends Informer<T> {
  /** Lists and watches the namespace from now on. Idempotent. */
  follow(namespace: string): void;
  /** Forgets what is known of the namespace, without a word to subscribers. Pinned ones stay. */
  unfollow(namespace: string): void;
  state(namespace: string): NamespaceState;
  /** What the API said when it refused the namespace last; undefined while it may be read. */
  forbidden(namespace: string): string | undefined;
  /** Resolves with the state when it is no longer `waiting`, at the latest after `patienceMs`. */
  settled(namespace: string): Promise<NamespaceState>;
  /** Calls back when a namespace became readable or forbidden. Returns the stop function. */
  onAccess(callback: (namespace: string) => void): () => void;
}

export interface NamespacedOptions<T extends KubeObject>
  extends Omit<InformerOptions<T>, 'namespace' | 'onHealth'> {
  /** Namespaces that are always followed. */
  readonly pinned: readonly string[];
  /** How long `settled` waits for a namespace that the API does not give, in milliseconds. Default 5,000. */
  readonly patienceMs?: number;
}

interface Member<T extends KubeObject> {
  readonly informer: Informer<T>;
  forbidden: string | undefined;
  /** Resolved when the state is known. */
  readonly known: PromiseWithResolvers<void>;
}

export function createNamespacedInformers<T extends KubeObject>(
  options: NamespacedOptions<T>,
): NamespacedInformers<T> {
  return new InformerSet(options);
}

/** A person has to grant the access first, and there may be as many such namespaces as there are. */
const forbiddenBackoff: BackoffOptions = { initial: 1_000, max: 30_000, jitter: 0.25 };

class InformerSet<T extends KubeObject> implements NamespacedInformers<T> {
  readonly resource: Resource;
  readonly cache: Cache<T>;
  readonly #options: NamespacedOptions<T>;
  readonly #members = new Map<string, Member<T>>();
  readonly #callbacks = new Set<(namespace: string) => void>();
  readonly #joined: JoinedCaches<T>;
  readonly #synced = Promise.withResolvers<void>();
  #started = false;

  constructor(options: NamespacedOptions<T>) {
    this.#options = options;
    this.resource = options.resource;
    this.#joined = joinCaches<T>(options.log);
    const { pinned } = options;
    this.cache = this.#joined.over(
      () => this.#started && pinned.every((namespace) => this.state(namespace) !== 'waiting'),
    );
  }

  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    const { pinned } = this.#options;
    for (const namespace of pinned) this.follow(namespace);
    for (const { informer } of this.#members.values()) informer.start();
    const first = pinned.map((namespace) => this.#members.get(namespace)?.known.promise);
    Promise.all(first).then(() => this.#synced.resolve());
  }

  observe(object: T): void {
    this.#members.get(object.metadata.namespace ?? '')?.informer.observe(object);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#members.values()].map(({ informer }) => informer.stop()));
  }

  follow(namespace: string): void {
    if (this.#members.has(namespace)) return;
    const known = Promise.withResolvers<void>();
    const informer = createInformer<T>({
      forbiddenBackoff,
      ...this.#options,
      namespace,
      onHealth: (error) => this.#learn(namespace, member, error),
    });
    const member: Member<T> = { informer, forbidden: undefined, known };
    this.#members.set(namespace, member);
    this.#joined.add(namespace, informer.cache);
    informer.synced.then(known.resolve);
    if (this.#started) informer.start();
  }

  unfollow(namespace: string): void {
    const member = this.#members.get(namespace);
    if (member === undefined || this.#options.pinned.includes(namespace)) return;
    this.#members.delete(namespace);
    this.#joined.remove(namespace);
    member.known.resolve();
    void member.informer.stop();
  }

  state(namespace: string): NamespaceState {
    const member = this.#members.get(namespace);
    if (member === undefined) return 'unfollowed';
    if (member.forbidden !== undefined) return 'forbidden';
    return member.informer.cache.synced ? 'synced' : 'waiting';
  }

  forbidden(namespace: string): string | undefined {
    return this.#members.get(namespace)?.forbidden;
  }

  async settled(namespace: string): Promise<NamespaceState> {
    const member = this.#members.get(namespace);
    if (member === undefined || this.state(namespace) !== 'waiting') return this.state(namespace);
    const late = Promise.withResolvers<void>();
    const cancel = this.#options.clock.after(this.#options.patienceMs ?? 5_000, late.resolve);
    await Promise.race([member.known.promise, late.promise]);
    cancel();
    return this.state(namespace);
  }

  onAccess(callback: (namespace: string) => void): () => void {
    this.#callbacks.add(callback);
    return () => this.#callbacks.delete(callback);
  }

  /** An outage says nothing about access. */
  #learn(namespace: string, member: Member<T>, error: unknown): void {
    if (error !== undefined && !isForbidden(error)) return;
    const before = member.forbidden;
    member.forbidden = error === undefined ? undefined : messageOf(error);
    if (error !== undefined) member.known.resolve();
    const changed = (before === undefined) !== (error === undefined);
    if (!changed || this.#members.get(namespace) !== member) return;
    for (const callback of this.#callbacks) callback(namespace);
  }
}

/** Makes `informers` follow the namespaces in which `source` holds objects, and no others. Returns the stop function. */
export function followNamespacesOf(
  source: Pick<Cache<KubeObject>, 'subscribe'>,
  informers: readonly Pick<NamespacedInformers<KubeObject>, 'follow' | 'unfollow'>[],
): () => void {
  const counts = new Map<string, number>();
  return source.subscribe(({ type, object }) => {
    if (type === 'updated') return;
    const namespace = object.metadata.namespace ?? '';
    const count = (counts.get(namespace) ?? 0) + (type === 'added' ? 1 : -1);
    if (count > 0) counts.set(namespace, count);
    else counts.delete(namespace);
    for (const informer of informers) {
      if (count > 0) informer.follow(namespace);
      else informer.unfollow(namespace);
    }
  });
}
