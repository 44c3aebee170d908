import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '#kit/clock.ts';
import { sha256Hex } from '#kit/digest.ts';
import { isObject } from '#kit/json.ts';
import type { Random } from '#kit/random.ts';
import type { Access } from '#routing/access.ts';
import type { WireUser } from '#wire/claims.ts';
import { seal, unseal } from '#wire/seal.ts';
import type { RouterKeys } from '../keys.ts';
import type { Identity } from './authenticator.ts';
import { addCookie, type CookieOptions, readCookie } from './cookies.ts';
import type { Logouts } from './logouts.ts';
import type { PeopleBook } from './people.ts';
import type { AuthSettings } from './settings.ts';
import { userOf } from './user-of.ts';

/** What stays the same of a login while sessions follow each other without the person. */
export interface Login {
  /** Unique among all logins; not the cookie, which is renewed. */
  readonly sid: string;
  /** Milliseconds since the epoch, as `until`. */
  readonly begun: number;
  /** It never goes on after this. */
  readonly until: number;
}

/** What a session cookie says; the cookie is all there is of it, besides the note that it ended. */
export interface LoginSession extends Login {
  readonly realm: string;
  readonly proof: 'password' | 'sso' | 'guest';
  /** Id of the user. */
  readonly user: string;
  /** Of mode pwd: the user's `rev` when it began. */
  readonly rev: number;
  /** Milliseconds since the epoch. */
  readonly expires: number;
  /** False: it is not renewed by being used. */
  readonly slides: boolean;
  /** Of realms that are known nowhere else. */
  readonly known?: { readonly user: WireUser; readonly claims?: Readonly<Record<string, unknown>> };
}

export interface Begin {
  readonly realm: string;
  readonly proof: LoginSession['proof'];
  readonly user: WireUser;
  /** Of mode pwd. */
  readonly rev?: number;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Default true. */
  readonly slides?: boolean;
  /** The login that it goes on with. Default: a new one. */
  readonly before?: Login;
}

export interface LoginSessions {
  /** Sets the cookie of a new session on an answer whose head is not written yet; one that was there before ends. */
  begin(request: IncomingMessage, response: ServerResponse, begin: Begin): LoginSession;
  /** The session that a request shows for a realm, alive, and who it is for. */
  find(
    request: IncomingMessage,
    realm: string,
  ): { readonly session: LoginSession; readonly identity: Identity } | undefined;
  /** As `find`; an old cookie is renewed by the answer. */
  identify(request: IncomingMessage, access: Access, response: ServerResponse): Identity | undefined;
  /** Ends it at every router, and takes the cookie away. */
  end(response: ServerResponse, session: LoginSession): Promise<void>;
  /** Ends what would go on with a login, where there may be no session any more. */
  forget(login: Login): Promise<void>;
  /** Whether a login ended before its time. */
  hasEnded(session: Parameters<Logouts['hasEnded']>[0]): boolean;
  /** As `end`, with every other session of its user. */
  endAll(response: ServerResponse, session: LoginSession): Promise<void>;
}

export interface LoginSessionsOptions {
  readonly keys: RouterKeys;
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: AuthSettings;
  readonly people: PeopleBook;
  readonly logouts: Logouts;
}

const purpose = 'login-session';
/** A browser keeps 4096 characters of a cookie with its name and attributes. */
const longest = 3_600;
const mostOpened = 10_000;

interface Found {
  session: LoginSession;
  identity: Identity;
}

type Find = (request: IncomingMessage, realm: string) => Found | undefined;

export function createLoginSessions(options: LoginSessionsOptions): LoginSessions {
  const { keys, clock, random, settings, logouts } = options;
  const find = createFind(options);
  const attributes = (maxAge: number): CookieOptions => ({
    ...{ maxAge, secure: isSecure(settings), sameSite: 'Lax' },
  });

  function write(response: ServerResponse, session: LoginSession): void {
    const { expires, realm } = session;
    const maxAge = Math.max(0, Math.floor((expires - clock.now()) / 1000));
    const sealed = seal(keys.session, purpose, packed(session), longest);
    addCookie(response, cookieName(realm, settings), sealed, attributes(maxAge));
  }

  function clear(response: ServerResponse, realm: string): void {
    addCookie(response, cookieName(realm, settings), '', attributes(0));
  }

  async function forget({ sid, begun, until }: Login): Promise<void> {
    if (!logouts.hasEnded({ sid, realm: '', user: '', begun })) await logouts.end(sid, until);
  }

  return {
    find,
    begin(request, response, begin) {
      const { realm, before } = begin;
      const earlier = find(request, realm)?.session;
      const sid = before?.sid ?? random.bytes(16).toString('base64url');
      // Of a guest that was never logged out there is nothing to protect, and each would have to be told to all routers.
      if (earlier !== undefined && earlier.sid !== sid && earlier.proof !== 'guest')
        void logouts.end(earlier.sid, earlier.until);
      const session = newSession(begin, sid, clock.now(), settings);
      write(response, session);
      return session;
    },
    identify(request, access, response) {
      if (access.mode === 'none') return undefined;
      const found = find(request, access.realm);
      if (found === undefined) return undefined;
      const renewed = renewedAt(found.session, clock.now(), settings);
      if (renewed !== undefined) write(response, renewed);
      return found.identity;
    },
    end(response, session) {
      clear(response, session.realm);
      return forget(session);
    },
    forget,
    hasEnded: (session) => logouts.hasEnded(session),
    endAll(response, session) {
      clear(response, session.realm);
      return logouts.endAll(session.realm, session.user, clock.now() + settings.sessionMaxMs);
    },
  };
}

function newSession(
  { realm, proof, user, rev = 0, claims, slides = true, before }: Begin,
  sid: string,
  now: number,
  { guestMs, sessionIdleMs, sessionMaxMs }: AuthSettings,
): LoginSession {
  const isGuest = proof === 'guest';
  const { begun, until } = before ?? { begun: now, until: now + (isGuest ? guestMs : sessionMaxMs) };
  return {
    ...{ sid, realm, proof, user: user.id, rev, begun, until, slides: slides && !isGuest },
    expires: Math.min(now + (isGuest ? guestMs : sessionIdleMs), until),
    ...(proof !== 'password' && { known: { user, ...(claims && { claims }) } }),
  };
}

/** In the last half of its time, when it is used. */
function renewedAt(
  session: LoginSession,
  now: number,
  { sessionIdleMs }: AuthSettings,
): LoginSession | undefined {
  const expires = Math.min(now + sessionIdleMs, session.until);
  const isOld = session.expires - now < sessionIdleMs / 2;
  return session.slides && isOld && expires > session.expires ? { ...session, expires } : undefined;
}

function createFind({ keys, clock, settings, people, logouts }: LoginSessionsOptions): Find {
  const opened = new Map<string, Found>();
  let openedWith: RouterKeys['session'] | undefined;

  function open(sealed: string): Found | undefined {
    // Cookies of a key that was retired end with it.
    if (keys.session !== openedWith) opened.clear();
    openedWith = keys.session;
    const known = opened.get(sealed);
    if (known !== undefined) return known;
    const session = read(unseal(keys.session, purpose, sealed, longest));
    const user = session && whoIs(session);
    if (session === undefined || user === undefined) return undefined;
    const { realm, proof, expires, known: told } = session;
    const claims = told?.claims;
    const found = { session, identity: { user, proof, realm, expires, ...(claims && { claims }) } };
    opened.set(sealed, found);
    const [oldest] = opened.size > mostOpened ? opened.keys().take(1) : [];
    if (oldest !== undefined) opened.delete(oldest);
    return found;
  }

  function whoIs({ realm, user, known }: LoginSession): WireUser | undefined {
    if (known !== undefined) return known.user;
    const person = people.realm(realm)?.byId(user);
    return person && userOf(person);
  }

  /** Looked up at each request: it ends with the person's `rev`. */
  function isAlive(session: LoginSession): boolean {
    if (session.expires <= clock.now() || logouts.hasEnded(session)) return false;
    if (session.proof !== 'password') return true;
    const person = people.realm(session.realm)?.byId(session.user);
    return person !== undefined && person.disabled !== true && person.rev === session.rev;
  }

  return (request, realm) => {
    const sealed = readCookie(request, cookieName(realm, settings));
    if (sealed === undefined || sealed === '') return undefined;
    const found = open(sealed);
    if (found === undefined || found.session.realm !== realm || !isAlive(found.session)) return undefined;
    const now = whoIs(found.session);
    // Another name or role of the same person.
    if (now !== undefined && now !== found.identity.user) found.identity = { ...found.identity, user: now };
    return found;
  };
}

/** `__Host-` where the operator says that browsers come by https: then no other host can set it. */
export function cookieName(realm: string, settings: Pick<AuthSettings, 'publicOrigin'>): string {
  const name = names.get(realm) ?? `ploinky_${sha256Hex(realm).slice(0, 16)}`;
  if (names.size >= mostNames) names.clear();
  names.set(realm, name);
  return isSecure(settings) ? `__Host-${name}` : name;
}

const names = new Map<string, string>();
const mostNames = 1_000;

export function isSecure({ publicOrigin }: Pick<AuthSettings, 'publicOrigin'>): boolean {
  return publicOrigin?.startsWith('https:') ?? false;
}

function packed({
  sid,
  realm,
  proof,
  user,
  rev,
  begun,
  expires,
  until,
  slides,
  known,
}: LoginSession): object {
  return { i: sid, m: realm, p: proof, u: user, r: rev, b: begun, e: expires, t: until, s: slides, k: known };
}

function read(value: Record<string, unknown> | undefined): LoginSession | undefined {
  if (value === undefined) return undefined;
  const { i, m, p, u, r, b, e, t, s, k } = value;
  const texts = typeof i === 'string' && typeof m === 'string' && typeof u === 'string';
  const numbers =
    typeof r === 'number' && typeof b === 'number' && typeof e === 'number' && typeof t === 'number';
  if (!texts || !numbers || (p !== 'password' && p !== 'sso' && p !== 'guest')) return undefined;
  const known = isObject(k) ? (k as unknown as LoginSession['known']) : undefined;
  if (p !== 'password' && known === undefined) return undefined;
  return {
    ...{ sid: i, realm: m, proof: p, user: u, rev: r, begun: b, expires: e, until: t, slides: s === true },
    ...(known && { known }),
  };
}
