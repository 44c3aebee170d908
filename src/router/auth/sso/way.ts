import { digestOf } from '#kit/digest.ts';
import type { Access } from '#routing/access.ts';
import type { Services } from '../../services.ts';
import { createDiscovery } from '../outgoing/discover.ts';
import { createOutgoing } from '../outgoing/fetch.ts';
import type { LoginSessions } from '../sessions.ts';
import type { LoginWay, WayExchange } from '../way.ts';
import { clearCookie, keptLogins } from './cookies.ts';
import { ssoRefused } from './failures.ts';
import { type Flow, isSecure, type SsoLogin, type SsoRealm } from './flow.ts';
import { createProviders } from './provider.ts';
import { createSso } from './sso.ts';

type Needs = Pick<Services, 'keys' | 'clock' | 'auth' | 'log' | 'tables' | 'people'>;

const loggedOutPath = '/auth/logged-out';

/**
 * People of mode sso log in at their provider. Their session is not renewed by being used: when it ends, the refresh
 * token or the provider's own session goes on with it, or the provider asks the person again.
 */
export function createSsoWay(services: Needs, sessions: LoginSessions): LoginWay {
  const { clock, auth, people } = services;
  const { resolve, ...rules } = auth.providers;
  const outgoing = createOutgoing({ rules, clock, resolve });
  const discovery = createDiscovery(outgoing, clock);
  const providers = createProviders(outgoing, discovery, (key) => people.value(key));
  const hasEnded: Flow['hasEnded'] = (session) => sessions.hasEnded(session);
  const sso = createSso({ ...services, providers, hasEnded });

  function enter({ request, response }: WayExchange, realm: string, login: SsoLogin, returnTo: string): void {
    const { user, claims, cookies, before } = login;
    for (const cookie of cookies) response.appendHeader('set-cookie', cookie);
    const begin = { realm, proof: 'sso', user, claims, slides: false, ...(before && { before }) } as const;
    response.appendHeader('set-cookie', login.keep(sessions.begin(request, response, begin)));
    redirect(response, returnTo);
  }

  return {
    async begin(exchange, access, returnTo) {
      const { request, response, origin } = exchange;
      const where = ssoOf(access);
      if (where === undefined) throw ssoRefused('provider_not_set_up');
      const renewed = await sso.renew(request, where, origin);
      if (renewed !== undefined) return enter(exchange, where.realm, renewed, returnTo);
      const { location, cookies } = await sso.begin(request, where, { origin, returnTo });
      for (const cookie of cookies) response.appendHeader('set-cookie', cookie);
      redirect(response, location);
    },
    async callback(exchange) {
      const query = new URLSearchParams((exchange.request.url ?? '').split('?')[1] ?? '');
      const { realm, access, returnTo } = sso.pending(exchange.request, query);
      const where = findRealm(services, realm, access);
      if (where === undefined) throw ssoRefused('login_expired');
      enter(exchange, realm, await sso.finish(exchange.request, where, query), returnTo);
    },
    async forget({ request, response, origin }) {
      for (const { name, kept } of keptLogins(services.keys, request)) {
        response.appendHeader('set-cookie', clearCookie(name, isSecure(origin)));
        if (kept === undefined) continue;
        const where = findRealm(services, kept.realm);
        if (where !== undefined) void sso.revoke(where, kept);
        await sessions.forget(kept);
      }
    },
    async logoutUrl({ request, origin }, { realm }) {
      const where = findRealm(services, realm);
      if (where === undefined) return undefined;
      return sso.end(request, where, { origin, afterwards: loggedOutPath });
    },
  };
}

function redirect(response: WayExchange['response'], location: string): void {
  response.writeHead(302, { location, 'cache-control': 'no-store', 'content-length': 0 }).end();
}

function ssoOf({ realm, sso }: Access): SsoRealm | undefined {
  return sso === undefined ? undefined : { realm, sso };
}

/** The Access of the realm with this digest; without one any: those of one realm differ in their secrets at most. */
function findRealm(
  { tables }: Pick<Services, 'tables'>,
  realm: string,
  digest?: string,
): SsoRealm | undefined {
  const { guarded, surfaces } = tables.current();
  const ofRoutes = surfaces.values().map(({ access }) => access);
  for (const access of [...guarded.values(), ...ofRoutes]) {
    const where = access?.realm === realm ? ssoOf(access) : undefined;
    if (where !== undefined && (digest === undefined || digestOf(where.sso) === digest)) return where;
  }
  return undefined;
}
