import type { Clock } from '#kit/clock.ts';
import { sha256Hex } from '#kit/digest.ts';
import type { Log } from '#kit/log.ts';

/** Where ended sessions are kept for all routers: ConfigMap `ploinky-logouts`; tests have a variable. */
export interface LogoutStore {
  /** Its entries; the same object until it changes. */
  current(): Readonly<Record<string, string>>;
  /** Sets entries, and takes away those with null. Rejects when that was not done. */
  write(entries: Readonly<Record<string, string | null>>): Promise<void>;
}

/** Sessions that ended before their time. */
export interface Logouts {
  /** Whether a session ended, or all sessions of its user that began when it did. `begun` in ms since the epoch. */
  hasEnded(session: {
    readonly sid: string;
    readonly realm: string;
    readonly user: string;
    readonly begun: number;
  }): boolean;
  /** Ends one, for every router. `expires` in ms since the epoch: remembered until then. Never rejects. */
  end(sid: string, expires: number): Promise<void>;
  /** Ends every session of a user that began until now. */
  endAll(realm: string, user: string, expires: number): Promise<void>;
}

/** A ConfigMap holds 1 MiB: beyond this many the ones that expire first are forgotten. */
const mostKept = 10_000;
const retryMs = 2_000;
const patienceMs = 3_000;

export function createLogouts({
  store,
  clock,
  log,
}: {
  readonly store: LogoutStore | undefined;
  readonly clock: Clock;
  readonly log: Log;
}): Logouts {
  /** What this router ended itself, known before the store tells it. */
  const own = new Map<string, string>();
  /** Of those, what the store was not told yet. */
  const pending = new Map<string, string>();
  let writing: Promise<void> | undefined;

  function find(key: string): string | undefined {
    return own.get(key) ?? store?.current()[key];
  }

  async function put(key: string, value: string): Promise<void> {
    own.set(key, value);
    prune(own, clock.now());
    if (store === undefined) return;
    pending.set(key, value);
    prune(pending, clock.now());
    writing ??= writeAll(store).finally(() => {
      writing = undefined;
    });
    await Promise.race([writing, clock.sleep(patienceMs)]);
  }

  /** One write at a time, with all that ended since the last: whoever logs in and out often makes no more of them. */
  async function writeAll(to: LogoutStore): Promise<void> {
    while (pending.size > 0) {
      const batch = [...pending];
      try {
        await to.write({ ...stale(to.current(), clock.now()), ...Object.fromEntries(batch) });
        for (const [key, value] of batch) if (pending.get(key) === value) pending.delete(key);
      } catch (error) {
        log.error('sessions that ended cannot be told to the other routers', {
          ...{ sessions: batch.length, error: String(error) },
        });
        await clock.sleep(retryMs);
        for (const [key, value] of pending) if (expiryOf(value) < clock.now()) pending.delete(key);
      }
    }
  }

  return {
    hasEnded({ sid, realm, user, begun }) {
      if (find(`s.${sid}`) !== undefined) return true;
      const all = find(allKey(realm, user));
      return all !== undefined && begun <= Number(all.split(' ')[1]);
    },
    end: (sid, expires) => put(`s.${sid}`, `${expires}`),
    endAll: (realm, user, expires) => put(allKey(realm, user), `${expires} ${clock.now()}`),
  };
}

function allKey(realm: string, user: string): string {
  return `u.${sha256Hex(`${realm}\n${user}`).slice(0, 32)}`;
}

function expiryOf(value: string): number {
  return Number(value.split(' ')[0]);
}

/** What need not be remembered: expired, or too much. */
function stale(entries: Readonly<Record<string, string>>, now: number): Record<string, null> {
  const live = Object.entries(entries).sort(([, left], [, right]) => expiryOf(right) - expiryOf(left));
  const gone = live.filter(([, value], at) => expiryOf(value) < now || at >= mostKept);
  return Object.fromEntries(gone.map(([key]) => [key, null]));
}

/** What expires first goes first: a crowd of guests must not bring back who logged out of a longer session. */
function prune(entries: Map<string, string>, now: number): void {
  // Seldom, because it looks at all of them.
  if (entries.size <= mostKept + mostKept / 10) return;
  for (const key of Object.keys(stale(Object.fromEntries(entries), now))) entries.delete(key);
}
