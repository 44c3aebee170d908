import type { IncomingMessage } from 'node:http';
import { isClaimed } from '#routing/resolve.ts';
import type { Caller } from '../caller.ts';
import { factsOf } from '../request.ts';
import type { Services } from '../services.ts';

type Asked = Pick<Services, 'auth' | 'tables'>;

const harmless = new Set(['GET', 'HEAD', 'OPTIONS']);
/** Proofs that a browser sends by itself, with whatever page asks. */
const byCookie = new Set<Caller['proof']>(['password', 'sso', 'guest']);

/**
 * True when a page of another origin would act with the cookie of who is logged in here. Browsers name the page in
 * `Origin` with every request that is not GET or HEAD, and say `Sec-Fetch-Site` besides; what sends neither is no
 * browser, and sends no cookie that it was not given on purpose. SameSite alone would not do: all ports of a host, and
 * all hosts of a domain, are one site.
 */
export function isForeignWrite(request: IncomingMessage, caller: Caller, services: Asked): boolean {
  if (!byCookie.has(caller.proof) || harmless.has(request.method ?? '')) return false;
  return !isOwnPage(request, services);
}

/** Whether the page that sends this is of the same origin, or of one that was allowed. */
export function isOwnPage(request: IncomingMessage, services: Asked): boolean {
  const { headers } = request;
  const { origin, host = '' } = headers;
  if (origin === undefined) {
    const site = headers['sec-fetch-site'];
    return site === undefined || site === 'same-origin' || site === 'none';
  }
  const { publicOrigin, allowedOrigins } = services.auth;
  if (allowedOrigins.includes(origin)) return true;
  if (origin === publicOrigin) return !isElsewhere(request, services, publicOrigin);
  if (origin === `https://${host}`) return true;
  // Where browsers come by https, a page that came in clear may be anybody's on the way, but for this machine's.
  const isClearFine = !publicOrigin?.startsWith('https:') || loopback.test(host);
  return origin === `http://${host}` && isClearFine;
}

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

/**
 * True at a host other than the public one that some Route has, whatever is asked there: who has agents at that host
 * does not trust the pages of all the others, and a login there is a login of the whole host.
 */
function isElsewhere(request: IncomingMessage, { tables }: Asked, publicOrigin: string): boolean {
  const { host } = factsOf(request);
  return host !== new URL(publicOrigin).hostname && isClaimed(tables.current(), host);
}
