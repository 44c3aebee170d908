import type { IncomingMessage } from 'node:http';
import { sha256Hex } from '#kit/digest.ts';
import { seal, unseal } from '#wire/seal.ts';
import type { Services } from '../../services.ts';

type Keys = Pick<Services['keys'], 'sessionSeal'>;

/** A browser keeps no longer cookie, name and attributes included. */
export const longestCookie = 3_800;
/** Sent to the login pages alone. */
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

/** What is kept of a login, for its renewal and its end. */
export interface Kept {
  readonly realm: string;
  readonly subject: string;
  readonly refreshToken?: string;
  readonly idToken?: string;
}

export const pendingMs = 300_000;
const longestReturn = 1_024;

export function pendingName(state: string): string {
  return `ploinky_login_${sha256Hex(state).slice(0, 12)}`;
}

export function keptName(realm: string): string {
  return `ploinky_sso_${sha256Hex(realm).slice(0, 12)}`;
}

export function pendingCookie(keys: Keys, pending: Pending, secure: boolean): string {
  const returnTo = pending.returnTo.length > longestReturn ? '/' : pending.returnTo;
  const value = seal(keys.sessionSeal, 'sso-login', { ...pending, returnTo }, longestCookie);
  return setCookie(pendingName(pending.state), value, pendingMs, secure);
}

/** Undefined: none was begun in this browser, or too long ago. */
export function readPending(
  keys: Keys,
  request: IncomingMessage,
  state: string,
  now: number,
): Pending | undefined {
  const value = cookieOf(request, pendingName(state));
  const opened =
    value === undefined ? undefined : unseal(keys.sessionSeal, 'sso-login', value, longestCookie);
  const pending = opened as unknown as Pending | undefined;
  return pending !== undefined && pending.expires > now && pending.state === state ? pending : undefined;
}

/** What does not fit into a cookie is not kept: the id token goes first, then the refresh token. */
export function keptCookie(keys: Keys, kept: Kept, maxAgeMs: number, secure: boolean): string | undefined {
  const { realm, subject, refreshToken, idToken } = kept;
  const choices = [
    { realm, subject, ...(refreshToken && { refreshToken }), ...(idToken && { idToken }) },
    { realm, subject, ...(refreshToken && { refreshToken }) },
  ];
  for (const choice of choices) {
    if (JSON.stringify(choice).length * 1.4 + 100 > longestCookie) continue;
    if (Object.keys(choice).length === 2) return undefined;
    const value = seal(keys.sessionSeal, 'sso-kept', choice, longestCookie);
    return setCookie(keptName(realm), value, maxAgeMs, secure);
  }
  return undefined;
}

export function readKept(keys: Keys, request: IncomingMessage, realm: string): Kept | undefined {
  const value = cookieOf(request, keptName(realm));
  const opened = value === undefined ? undefined : unseal(keys.sessionSeal, 'sso-kept', value, longestCookie);
  return opened?.['realm'] === realm ? (opened as unknown as Kept) : undefined;
}

export function clearCookie(name: string, secure: boolean): string {
  return setCookie(name, '', 0, secure);
}

function setCookie(name: string, value: string, maxAgeMs: number, secure: boolean): string {
  const age = Math.floor(maxAgeMs / 1000);
  return `${name}=${value}; Path=${path}; HttpOnly; SameSite=Lax; Max-Age=${age}${secure ? '; Secure' : ''}`;
}

function cookieOf({ headers }: IncomingMessage, name: string): string | undefined {
  const found = (headers.cookie ?? '').split(';').find((part) => part.trim().startsWith(`${name}=`));
  return found?.trim().slice(name.length + 1);
}

/** Logins that were begun in this browser and did not end; an attacker's page can begin as many as it likes. */
export function pendingNames({ headers }: IncomingMessage): readonly string[] {
  return [...(headers.cookie ?? '').matchAll(/(?:^|; *)(ploinky_login_[0-9a-f]{12})=/g)].map(
    (found) => found[1] ?? '',
  );
}
