import type { IncomingMessage } from 'node:http';
import type { Caller } from '../caller.ts';
import type { AuthSettings } from './settings.ts';

const harmless = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Proofs that a browser sends by itself, with whatever page asks. */
const byCookie = new Set<Caller['proof']>(['password', 'sso', 'guest']);

/**
 * True when a page of another origin would act with the cookie of who is logged in here. Browsers name the page in
 * `Origin` with every request that is not GET or HEAD, and say `Sec-Fetch-Site` besides; what sends neither is no
 * browser, and sends no cookie that it was not given on purpose. SameSite alone would not do: all ports of a host, and
 * all hosts of a domain, are one site.
 */
export function isForeignWrite(request: IncomingMessage, caller: Caller, settings: AuthSettings): boolean {
  if (!byCookie.has(caller.proof) || harmless.has(request.method ?? '')) return false;
  return !isOwnPage(request, settings);
}

/** Whether the page that sends this is of the same origin, or of one that was allowed. */
export function isOwnPage({ headers }: IncomingMessage, settings: AuthSettings): boolean {
  const { origin, host = '' } = headers;
  if (origin === undefined) {
    const site = headers['sec-fetch-site'];
    return site === undefined || site === 'same-origin' || site === 'none';
  }
  if (settings.allowedOrigins.includes(origin) || origin === settings.publicOrigin) return true;
  return origin === `http://${host}` || origin === `https://${host}`;
}
