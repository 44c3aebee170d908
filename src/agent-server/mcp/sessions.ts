import type { Clock } from '#kit/clock.ts';
import type { Random } from '#kit/random.ts';
import { joinParkState } from '#mcp/bridge/park-state.ts';
import { isIdle, newSession, type Session } from './session.ts';

export interface Sessions {
  /** A new session of a direct client, under an id of its own. */
  mint(revision: string): Session;
  /** The session that a router names; made when it is not there yet, `undefined` when it was ended. */
  open(id: string, revision: string): Session | undefined;
  /** The session of a direct client. */
  find(id: string): Session | undefined;
  /** Cancels what runs, closes its streams, and remembers that it ended. */
  end(session: Session): void;
  all(): Iterable<Session>;
  readonly size: number;
  /** Ends the sessions' own streams for good; calls go on. */
  closeStreams(): void;
  /** No stream may be opened any more. */
  readonly stopping: boolean;
  close(): void;
}

/** Keeps what a router names apart from what a direct client may name: no header reaches a router's session. */
const routerPrefix = 'router:';

export interface SessionsOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** uid of this instance. */
  readonly instance: string;
  /** When more are needed, the longest unused one without a stream that is read or a running call ends. */
  readonly maxSessions: number;
  /** Milliseconds. */
  readonly idleMs: number;
  /** A session has ended, for whatever reason. */
  readonly onEnd?: (session: Session) => void;
}

export function createSessions(options: SessionsOptions): Sessions {
  const { clock, random, instance, maxSessions, idleMs, onEnd } = options;
  /** In order of last use. */
  const sessions = new Map<string, Session>();
  /** Ended sessions of routers, which would otherwise be made anew. */
  const tombstones = new Set<string>();
  let stopping = false;
  const mintQuestionId = () => joinParkState(instance, `question-${random.bytes(12).toString('base64url')}`);
  let cancelSweep = clock.after(idleMs / 4, sweep);

  function sweep(): void {
    for (const session of sessions.values()) {
      if (clock.monotonic() - session.lastUsed < idleMs) break;
      if (isIdle(session)) end(session, false);
    }
    cancelSweep = clock.after(idleMs / 4, sweep);
  }
  function add(key: string, id: string, revision: string): Session {
    if (sessions.size >= maxSessions) makeRoom();
    const session = newSession({ key, id, revision, mintQuestionId }, clock.monotonic());
    sessions.set(key, session);
    return session;
  }
  function makeRoom(): void {
    const oldest = sessions.values().find(isIdle) ?? sessions.values().next().value;
    if (oldest !== undefined) end(oldest, false);
  }
  function touch(session: Session | undefined): Session | undefined {
    if (session === undefined) return undefined;
    session.lastUsed = clock.monotonic();
    sessions.delete(session.key);
    sessions.set(session.key, session);
    return session;
  }
  function end(session: Session, forGood = true): void {
    sessions.delete(session.key);
    if (forGood) tombstones.add(session.key);
    if (tombstones.size > maxSessions) tombstones.delete(tombstones.values().next().value ?? '');
    for (const stream of [...(session.streams ?? [])]) stream.close();
    for (const call of session.calls?.values() ?? []) call.abort(new Error('The session ended'));
    onEnd?.(session);
  }
  return {
    mint(revision) {
      const id = random.uuid();
      return add(id, id, revision);
    },
    open(id, revision) {
      const key = `${routerPrefix}${id}`;
      return tombstones.has(key) ? undefined : (touch(sessions.get(key)) ?? add(key, id, revision));
    },
    find: (id) => (id.startsWith(routerPrefix) ? undefined : touch(sessions.get(id))),
    end: (session) => end(session),
    all: () => sessions.values(),
    get size() {
      return sessions.size;
    },
    get stopping() {
      return stopping;
    },
    closeStreams() {
      stopping = true;
      for (const session of sessions.values())
        for (const stream of [...(session.streams ?? [])]) stream.close();
    },
    close() {
      cancelSweep();
      for (const session of [...sessions.values()]) end(session, false);
    },
  };
}
