import type { IncomingMessage } from 'node:http';
import { sha256Hex } from '#kit/digest.ts';
import { seal, unseal } from '#wire/seal.ts';
import type { Services } from '../../services.ts';
import { readCookie } from '../cookies.ts';
import type { Login } from '../sessions.ts';

type Keys = Pick<Services['keys'], 'sessionSeal'>;

/** A browser keeps no longer cookie, name and attributes included. */
export const longestCookie = 3_800;
/** Sent to the login pages alone, but for what has to be for this very host. */
const path = '/auth';

/** What a login at a provider must find again when the browser comes back. */
export interface Pending {
  readonly realm: string;
  /** Which Access of the realm began it: others may name another client secret. */
  readonly access: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly redirectUri: string;
  readonly returnTo: string;
  /** Milliseconds since the epoch. */
  readonly expires: number;
}

/** What is kept of a login, for its renewal and its end; it ends with the session that it goes on with. */
export interface Kept extends Login {
  readonly realm: string;
  readonly subject: string;
  readonly refreshToken?: string;
  readonly idToken?: string;
}

export const pendingMs = 300_000;
const longestReturn = 1_024;
/** Of more realms than these nobody has logins. */
const mostKept = 16;

/** Behind https no other host can set it, and so have somebody finish a login that is not theirs. */
export function pendingName(state: string, secure: boolean): string {
  return `${secure ? '__Host-' : ''}ploinky_login_${sha256Hex(state).slice(0, 12)}`;
}

export function keptName(realm: string): string {
  return `ploinky_sso_${sha256Hex(realm).slice(0, 12)}`;
}

export function pendingCookie(keys: Keys, pending: Pending, secure: boolean): string {
  const returnTo = pending.returnTo.length > longestReturn ? '/' : pending.returnTo;
  const value = seal(keys.sessionSeal, 'sso-login', { ...pending, returnTo }, longestCookie);
  return setCookie(pendingName(pending.state, secure), value, pendingMs, secure);
}

/** Undefined: none was begun in this browser, or too long ago. */
export function readPending(
  keys: Keys,
  request: IncomingMessage,
  state: string,
  { now, secure }: { readonly now: number; readonly secure: boolean },
): Pending | undefined {
  const value = readCookie(request, pendingName(state, secure));
  const opened =
    value === undefined ? undefined : unseal(keys.sessionSeal, 'sso-login', value, longestCookie);
  const pending = opened as unknown as Pending | undefined;
  return pending !== undefined && pending.expires > now && pending.state === state ? pending : undefined;
}

/** What does not fit into a cookie is not kept: the id token goes first, then the refresh token. */
export function keptCookie(keys: Keys, kept: Kept, maxAgeMs: number, secure: boolean): string | undefined {
  const { refreshToken, idToken, ...always } = kept;
  const choices: Kept[] = [
    { ...always, ...(refreshToken && { refreshToken }), ...(idToken && { idToken }) },
    { ...always, ...(refreshToken && { refreshToken }) },
  ];
  for (const choice of choices) {
    if (JSON.stringify(choice).length * 1.4 + 100 > longestCookie) continue;
    if (choice.refreshToken === undefined && choice.idToken === undefined) return undefined;
    const value = seal(keys.sessionSeal, 'sso-kept', choice, longestCookie);
    return setCookie(keptName(kept.realm), value, maxAgeMs, secure);
  }
  return undefined;
}

export function readKept(keys: Keys, request: IncomingMessage, realm: string): Kept | undefined {
  const kept = openKept(keys, request, keptName(realm));
  return kept?.realm === realm ? kept : undefined;
}

/** Names of the cookies that logins at any realm left in this browser, with what they keep where that can be read. */
export function keptLogins(
  keys: Keys,
  request: IncomingMessage,
): readonly { readonly name: string; readonly kept: Kept | undefined }[] {
  const names = (request.headers.cookie ?? '').matchAll(/(?:^|;) *(ploinky_sso_[0-9a-f]{12})=/g);
  const different = [...new Set([...names].map((found) => found[1] ?? ''))].slice(0, mostKept);
  return different.map((name) => ({ name, kept: openKept(keys, request, name) }));
}

function openKept(keys: Keys, request: IncomingMessage, name: string): Kept | undefined {
  const value = readCookie(request, name);
  const opened = value === undefined ? undefined : unseal(keys.sessionSeal, 'sso-kept', value, longestCookie);
  const kept = opened as unknown as Kept | undefined;
  return typeof kept?.sid === 'string' && keptName(kept.realm) === name ? kept : undefined;
}

export function clearCookie(name: string, secure: boolean): string {
  return setCookie(name, '', 0, secure);
}

function setCookie(name: string, value: string, maxAgeMs: number, secure: boolean): string {
  const age = Math.max(0, Math.floor(maxAgeMs / 1000));
  const at = name.startsWith('__Host-') ? '/' : path;
  return `${name}=${value}; Path=${at}; HttpOnly; SameSite=Lax; Max-Age=${age}${secure ? '; Secure' : ''}`;
}

/** Logins that were begun in this browser and did not end; an attacker's page can begin as many as it likes. */
export function pendingNames({ headers }: IncomingMessage): readonly string[] {
  return [...(headers.cookie ?? '').matchAll(/(?:^|; *)((?:__Host-)?ploinky_login_[0-9a-f]{12})=/g)].map(
    (found) => found[1] ?? '',
  );
}
