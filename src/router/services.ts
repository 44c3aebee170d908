import type { Clock } from '#kit/clock.ts';
import type { Log } from '#kit/log.ts';
import type { Random } from '#kit/random.ts';
import { createResolver, type Resolver } from '#routing/resolve.ts';
import type { RoutingTable } from '#routing/table.ts';
import { createLogouts, type LogoutStore } from './auth/logouts.ts';
import { createPeopleBook, noPeople, type PeopleBook, type PeopleSource } from './auth/people.ts';
import { createLoginSessions, type LoginSessions } from './auth/sessions.ts';
import { type AuthSettings, defaultAuthSettings } from './auth/settings.ts';
import { type Abouts, createAbouts } from './catalog/abouts.ts';
import { type Catalog, createCatalog } from './catalog/catalog.ts';
import { type Conflicts, createConflicts } from './catalog/conflicts.ts';
import { createFetchItems } from './catalog/fetch-list.ts';
import { createGrants, type Grants } from './catalog/grants.ts';
import { createToolWatch } from './catalog/tool-watch.ts';
import { createViews, type Views } from './catalog/views.ts';
import { createRouterKeys, type RouterKeys } from './keys.ts';
import { defaultLimits, type RouterLimits } from './limits.ts';
import { createSessions, type Sessions } from './mcp/sessions.ts';
import { createPeers, noPeers, type PeerSource, type Peers } from './peers/peers.ts';
import { poolRandom } from './pooled-random.ts';
import type { KeySource, TableSource } from './sources.ts';
import { createPools, type Pools } from './upstream/pools.ts';
import { createSender, type Sender } from './upstream/send.ts';

export interface ServicesOptions {
  readonly tables: TableSource;
  readonly keys: KeySource;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Version of this program. */
  readonly version: string;
  readonly limits?: Partial<RouterLimits>;
  /** Frees what died young; called after some MiB of large bodies. Default: it is left to the runtime. */
  readonly reclaim?: () => void;
  /** Other routers of the same agents; needs a listener for them. Default: there are none. */
  readonly peers?: PeerSource;
  /** How people log in. */
  readonly auth?: Partial<AuthSettings>;
  /** Who may log in. Default: nobody. */
  readonly people?: PeopleSource;
  /** Where ended sessions are kept for all routers. Default: this one knows its own alone. */
  readonly logouts?: LogoutStore;
}

/** What the plugins share. */
export interface Services {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly version: string;
  readonly limits: RouterLimits;
  readonly tables: TableSource;
  readonly keys: RouterKeys;
  readonly pools: Pools;
  readonly sender: Sender;
  readonly catalog: Catalog;
  readonly views: Views;
  readonly abouts: Abouts;
  readonly conflicts: Conflicts;
  readonly grants: Grants;
  readonly sessions: Sessions;
  readonly peers: Peers;
  readonly auth: AuthSettings;
  readonly people: PeopleBook;
  readonly logins: LoginSessions;
  readonly reclaim: (() => void) | undefined;
  /** For the table as it is now. */
  readonly resolve: Resolver;
  /**
   * Calls back after a change of what is served, or of what agents may list, once everything here follows it. An
   * agent that answers at another address is none. Returns the stop function.
   */
  onChange(callback: () => void): () => void;
  /** True from the beginning of a shutdown on: nobody should send anything new here. */
  readonly draining: boolean;
  /** Says that nobody should send anything new here; what comes all the same is served. */
  retire(): void;
  /** Calls back once, when the router stops to listen: streams end then, calls go on. */
  onDrain(callback: () => void): void;
  drain(): void;
  close(): Promise<void>;
}

export function createServices(options: ServicesOptions): Services {
  const { tables, clock, log, version } = options;
  const random = poolRandom(options.random);
  const limits = { ...defaultLimits, ...options.limits };
  const auth = { ...defaultAuthSettings, ...options.auth };
  const keys = createRouterKeys(options.keys);
  const pools = createPools({ keys, limits, random, clock, log });
  const sender = createSender({ tables, keys, pools, limits, clock, random });
  const lists = createLists({ tables, sender, clock, limits, log, version });
  const { catalog, conflicts } = lists;
  const sessions = createSessions({ keys, clock, random, ttlMs: limits.sessionTtlMs });
  const source = options.peers;
  const peers = source ? createPeers({ source, sessions, keys, limits, clock, log }) : noPeers;
  let draining = false;
  const callbacks = new Set<() => void>();
  const drainCallbacks: (() => void)[] = [];
  let { surfaces } = tables.current();
  const stop = tables.subscribe(() => {
    const table = tables.current();
    pools.retain(table);
    const isListedElse = catalog.retain(table);
    if (!isListedElse && table.surfaces === surfaces) return;
    if (table.surfaces !== surfaces) conflicts.retain(table);
    surfaces = table.surfaces;
    for (const callback of callbacks) callback();
  });
  return {
    ...{ clock, random, log, version, limits, tables, keys, pools, sender, sessions, peers, auth },
    ...createLogins(options, { auth, keys, random }),
    ...lists,
    grants: createGrants({ tables }),
    reclaim: options.reclaim,
    resolve: followingResolver(tables),
    onChange(callback) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    get draining() {
      return draining;
    },
    retire() {
      draining = true;
    },
    onDrain: (callback) => void drainCallbacks.push(callback),
    drain() {
      draining = true;
      for (const callback of drainCallbacks.splice(0)) callback();
    },
    async close() {
      stop();
      await Promise.all([pools.close(), peers.close()]);
    },
  };
}

function createLogins(
  { clock, log, people: source = noPeople, logouts: store }: ServicesOptions,
  { auth: settings, ...own }: Pick<Services, 'auth' | 'keys' | 'random'>,
): Pick<Services, 'people' | 'logins'> {
  const people = createPeopleBook(source);
  const logouts = createLogouts({ store, clock, log });
  return { people, logins: createLoginSessions({ ...own, clock, settings, people, logouts }) };
}

type Lists = Pick<Services, 'catalog' | 'views' | 'abouts' | 'conflicts'>;
type ListsOptions = Pick<Services, 'tables' | 'sender' | 'clock' | 'limits' | 'log' | 'version'>;

function createLists({ tables, sender, clock, limits, log, version }: ListsOptions): Lists {
  const { listTimeoutMs, listMaxAgeMs, listsAhead, backendDeadlineMs } = limits;
  const watch = createToolWatch(log);
  const catalog = createCatalog({
    ...{ clock, log, listTimeoutMs, listMaxAgeMs, listsAhead },
    ...{ onListed: watch.look, onGone: watch.forget },
    fetch: createFetchItems({ sender, limits, version }),
  });
  const conflicts = createConflicts({ log });
  const views = createViews({ tables, catalog, clock, backendDeadlineMs, onView: conflicts.look });
  return { catalog, conflicts, views, abouts: createAbouts({ tables, catalog, clock, limits }) };
}

/** Compiles each table once, when it is first asked. */
function followingResolver(tables: TableSource): Resolver {
  let table: RoutingTable | undefined;
  let resolver: Resolver | undefined;
  return (host, path) => {
    const now = tables.current();
    if (resolver === undefined || now !== table) {
      table = now;
      resolver = createResolver(now);
    }
    return resolver(host, path);
  };
}
