import type { IncomingMessage } from 'node:http';
import type { Caller } from '../caller.ts';
import { knownFacts } from '../request.ts';
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
export function isOwnPage(request: IncomingMessage, settings: AuthSettings): boolean {
  const { headers } = request;
  const { origin, host = '' } = headers;
  if (origin === undefined) {
    const site = headers['sec-fetch-site'];
    return site === undefined || site === 'same-origin' || site === 'none';
  }
  if (settings.allowedOrigins.includes(origin)) return true;
  const { publicOrigin } = settings;
  if (origin === publicOrigin) return !isElsewhere(request, publicOrigin);
  if (origin === `https://${host}`) return true;
  // Where browsers come by https, a page that came in clear may be anybody's on the way, but for this machine's.
  const isClearFine = !publicOrigin?.startsWith('https:') || loopback.test(host);
  return origin === `http://${host}` && isClearFine;
}

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

/** True where a Route of another host than the public one is asked: who has agents there does not trust all the others. */
function isElsewhere(request: IncomingMessage, publicOrigin: string): boolean {
  const { resolution, host } = knownFacts(request) ?? {};
  const surface = resolution !== undefined && 'surface' in resolution ? resolution.surface : undefined;
  return surface !== undefined && surface.place.host !== '*' && host !== new URL(publicOrigin).hostname;
}
