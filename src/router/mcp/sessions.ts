import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { oncePerObject } from '#kit/memo.ts';
import type { Random } from '#kit/random.ts';
import type { McpContext } from '#wire/claims.ts';
import { seal, unseal } from '#wire/seal.ts';
import { bindingOf, type Caller } from '../caller.ts';
import type { RouterKeys } from '../keys.ts';

/** What a session id of the sessions era says; the state itself is with the agent-servers, under `key`. */
export interface Session {
  readonly key: string;
  /** Which endpoint it belongs to: the aggregate's place, or one agent's uid. */
  readonly scope: string;
  /** Who opened it: `bindingOf` the caller. */
  readonly user: string;
  readonly revision: string;
  readonly capabilities: Record<string, unknown>;
  readonly client: { readonly name: string; readonly version: string } | undefined;
  /** Seconds since the epoch. */
  readonly expires: number;
}

/** A session that ended before its time: how it is remembered, here and by other routers. */
export type Ended = Pick<Session, 'key' | 'expires'>;

export interface Sessions {
  /** A new key for a session that is about to begin. */
  newKey(): string;
  /** The id for a client. Capabilities that do not fit into 1 KiB are left out, the largest first. */
  seal(session: Omit<Session, 'expires'>): string;
  /** The session of an id, when it is one of this endpoint and caller, alive and not ended; else undefined. */
  open(id: string, scope: string, caller: Caller): Session | undefined;
  /** Makes an id unknown here at once. What would have expired by now needs no remembering. */
  end(session: Ended): void;
  /** The sessions that ended last and would not have expired yet, at most so many. */
  lastEnded(most: number): readonly Ended[];
}

const purpose = 'mcp-session';
/** Ids that need not be opened again at each request: the last ones. */
const mostOpened = 10_000;

export function createSessions(options: {
  readonly keys: RouterKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly ttlMs: number;
  /** Ended sessions that are remembered until they expire. Default 100,000; the oldest are forgotten first. */
  readonly tombstones?: number;
}): Sessions {
  const ended = new Map<string, number>();
  const opened = new Map<string, Session>();
  let openedWith: RouterKeys['sessionSeal'] | undefined;
  const seconds = () => Math.floor(options.clock.now() / 1000);
  return {
    newKey: () => options.random.bytes(16).toString('base64url'),
    seal: (session) =>
      sealFitting(options.keys, { ...session, expires: seconds() + Math.floor(options.ttlMs / 1000) }),
    open(id, scope, caller) {
      const { sessionSeal } = options.keys;
      // Ids of a key that was retired end with it.
      if (sessionSeal !== openedWith) opened.clear();
      openedWith = sessionSeal;
      const known = opened.get(id);
      const session = known ?? read(unseal(sessionSeal, purpose, id));
      if (session === undefined || session.expires <= seconds()) return undefined;
      if (session.scope !== scope || session.user !== bindingOf(caller)) return undefined;
      if (known === undefined) {
        opened.set(id, session);
        if (opened.size > mostOpened) dropOldest(opened);
      }
      return ended.has(session.key) ? undefined : session;
    },
    end({ key, expires }) {
      if (expires <= seconds()) return;
      ended.set(key, expires);
      if (ended.size > (options.tombstones ?? 100_000)) dropOldest(ended);
    },
    lastEnded(most) {
      const now = seconds();
      const live = [...ended].filter(([, expires]) => expires > now);
      return live.slice(-most).map(([key, expires]) => ({ key, expires }));
    },
  };
}

function dropOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
}

/** What an agent-server is told about the session. */
export const contextOf = oncePerObject(
  ({ key, revision, capabilities, client }: Session): McpContext => ({
    session: key,
    revision,
    capabilities,
    ...(client !== undefined && { client }),
  }),
);

function sealFitting(keys: RouterKeys, session: Session): string {
  let capabilities = session.capabilities;
  for (;;) {
    const packed = {
      k: session.key,
      s: session.scope,
      u: session.user,
      r: session.revision,
      c: capabilities,
      ...(session.client && { n: [session.client.name.slice(0, 64), session.client.version.slice(0, 32)] }),
      e: session.expires,
    };
    const size = JSON.stringify(packed).length;
    if (size <= 700 || Object.keys(capabilities).length === 0) return seal(keys.sessionSeal, purpose, packed);
    capabilities = withoutLargest(capabilities);
  }
}

function withoutLargest(capabilities: Record<string, unknown>): Record<string, unknown> {
  const sizes = Object.entries(capabilities).sort(
    (left, right) => JSON.stringify(right[1]).length - JSON.stringify(left[1]).length,
  );
  return Object.fromEntries(sizes.slice(1));
}

function read(packed: Record<string, unknown> | undefined): Session | undefined {
  if (packed === undefined) return undefined;
  const { k, s, u, r, c, n, e } = packed;
  const texts =
    typeof k === 'string' && typeof s === 'string' && typeof u === 'string' && typeof r === 'string';
  if (!texts || !isObject(c) || typeof e !== 'number') return undefined;
  const client = Array.isArray(n) ? { name: String(n[0]), version: String(n[1]) } : undefined;
  return { key: k, scope: s, user: u, revision: r, capabilities: c, client, expires: e };
}
