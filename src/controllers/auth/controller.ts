import type { Agent } from '#api/agent.ts';
import { managedByLabel, managedByValue } from '#api/labels.ts';
import type { ConfigMap, KubeObject, Secret } from '#api/meta.ts';
import { configMapResource, secretResource } from '#api/resources.ts';
import type { Route } from '#api/route.ts';
import type { Clock } from '#kit/clock.ts';
import { canonicalJson } from '#kit/json.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import type { CacheEvent } from '#kube/cache.ts';
import type { Client } from '#kube/client.ts';
import { type Controller, createController } from '#kube/controller.ts';
import { isAlreadyExists } from '#kube/errors.ts';
import type { Informer } from '#kube/informer.ts';
import type { Metrics } from '#kube/metrics.ts';
import { type Result, settled } from '#kube/result.ts';
import { callbackSource, informerSource, type Source } from '#kube/sources.ts';
import { authSecretName, logoutsName } from '#routing/access.ts';
import { blockedIn, type NamespaceAccess } from '../agent/access.ts';
import { type Asking, gatherAuth } from './gather.ts';
import type { AuthReferences } from './references.ts';

export interface AuthControllerOptions {
  readonly client: Client;
  readonly agents: Informer<Agent>;
  readonly routes: Informer<Route>;
  readonly secrets: Informer<Secret>;
  readonly configMaps: Informer<ConfigMap>;
  /** Where Secrets are read a namespace at a time. Default: `secrets` knows them all. */
  readonly access?: NamespaceAccess;
  readonly homeNamespace: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
}

const fieldManager = 'ploinky-auth-controller';
const authSecretType = 'ploinky.dev/auth';

/**
 * Copies what Agents and Routes name in `auth` into one Secret of the home namespace, which routers follow: they may
 * read no Secret of any other. And makes the ConfigMap in which routers note the sessions that ended.
 */
export function createAuthController(options: AuthControllerOptions): Controller {
  const { clock, random, log, metrics } = options;
  const copier = new Copier(options);
  return createController({
    name: 'auth',
    ...{ clock, random, log },
    ...(metrics && { metrics }),
    sources: copier.sources(),
    reconcile: () => copier.copy(),
  });
}

class Copier {
  readonly #options: AuthControllerOptions;
  readonly #references: AuthReferences;
  #named: ReadonlySet<string> = new Set();
  #leftOut = '';
  #hasLogouts = false;

  constructor(options: AuthControllerOptions) {
    this.#options = options;
    this.#references = authReferences(options);
  }

  sources(): Source[] {
    const { agents, routes, secrets, configMaps, access } = this.#options;
    const keys = () => [this.#key];
    const when = (event: CacheEvent<KubeObject>) => this.#isNamed(event);
    return [
      informerSource(agents, { keys, when: authChanged }),
      informerSource(routes, { keys, when: authChanged }),
      informerSource(secrets, { keys, when }),
      informerSource(configMaps, { keys, when }),
      callbackSource((enqueue) => access?.secrets.onAccess(() => enqueue(this.#key)) ?? nothing),
    ];
  }

  async copy(): Promise<Result> {
    const { client, secrets, agents, routes } = this.#options;
    const asking: Asking[] = [...agents.cache.list(), ...routes.cache.list()].filter(asks);
    if (asking.length > 0) await this.#makeLogouts();
    const unread = await this.#unread(asking);
    const current = secrets.cache.get(this.#key);
    const gathered = gatherAuth(asking, { ...this.#references, unread, current: current?.data ?? {} });
    this.#named = gathered.named;
    this.#tellLeftOut(gathered.leftOut);
    const isEmpty = Object.keys(gathered.data).length === 0;
    if (current === undefined ? isEmpty : canonicalJson(current.data ?? {}) === canonicalJson(gathered.data))
      return settled;
    const metadata = { ...this.#key, labels: { [managedByLabel]: managedByValue } };
    const { data } = gathered;
    const secret: Secret = { apiVersion: 'v1', kind: 'Secret', metadata, type: authSecretType, data };
    const applied = await client.apply<Secret>(secretResource, secret, { fieldManager, force: true });
    secrets.observe(applied);
    return settled;
  }

  get #key() {
    return { namespace: this.#options.homeNamespace, name: authSecretName };
  }

  #isNamed({ object: { metadata } }: CacheEvent<KubeObject>): boolean {
    const { namespace = '', name } = metadata;
    const isOwn = name === authSecretName && namespace === this.#options.homeNamespace;
    return isOwn || this.#named.has(`${namespace}/${name}`);
  }

  /** Where Secrets are not read, or not yet, none is missing. */
  async #unread(asking: readonly Asking[]): Promise<Set<string>> {
    const unread = new Set<string>();
    for (const namespace of new Set(asking.map(({ metadata }) => metadata.namespace ?? ''))) {
      if ((await blockedIn(namespace, this.#options)) !== undefined) unread.add(namespace);
    }
    return unread;
  }

  #tellLeftOut(leftOut: readonly string[]): void {
    const text = leftOut.join(' ');
    if (text !== '' && text !== this.#leftOut)
      this.#options.log.error('there are more users than the Secret for routers holds', { leftOut });
    this.#leftOut = text;
  }

  async #makeLogouts(): Promise<void> {
    if (this.#hasLogouts) return;
    const { client, homeNamespace: namespace } = this.#options;
    const metadata = { name: logoutsName, namespace, labels: { [managedByLabel]: managedByValue } };
    const map: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
    try {
      await client.create(configMapResource, map, { fieldManager });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
    this.#hasLogouts = true;
  }
}

const nothing = () => undefined;

export function authReferences({
  secrets,
  configMaps,
}: Pick<AuthControllerOptions, 'secrets' | 'configMaps'>): AuthReferences {
  return {
    secret: (namespace, name) => secrets.cache.get({ namespace, name }),
    configMap: (namespace, name) => configMaps.cache.get({ namespace, name }),
  };
}

function asks({ spec }: Asking): boolean {
  return spec.auth.mode !== 'none';
}

/** Agents and Routes change all the time; what they ask for does not. */
function authChanged({ type, object, old }: CacheEvent<Agent | Route>): boolean {
  if (type === 'deleted' || old === undefined) return asks(object);
  if (!asks(object) && !asks(old)) return false;
  return JSON.stringify(object.spec.auth) !== JSON.stringify(old.spec.auth);
}
