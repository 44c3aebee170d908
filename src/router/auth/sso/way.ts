import { digestOf } from '#kit/digest.ts';
import type { Access } from '#routing/access.ts';
import type { Services } from '../../services.ts';
import { createDiscovery } from '../outgoing/discover.ts';
import { createOutgoing } from '../outgoing/fetch.ts';
import type { LoginSessions } from '../sessions.ts';
import type { LoginWay, WayExchange } from '../way.ts';
import { ssoRefused } from './failures.ts';
import type { SsoLogin, SsoRealm } from './flow.ts';
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
  const sso = createSso({ ...services, providers });

  function enter({ request, response }: WayExchange, realm: string, login: SsoLogin, returnTo: string): void {
    const { user, claims, cookies } = login;
    for (const cookie of cookies) response.appendHeader('set-cookie', cookie);
    sessions.begin(request, response, { realm, proof: 'sso', user, claims, slides: false });
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
    async logoutUrl({ request, response, origin }, { realm }) {
      const where = findRealm(services, realm);
      if (where === undefined) return undefined;
      const { location, cookies } = await sso.end(request, where, { origin, afterwards: loggedOutPath });
      for (const cookie of cookies) response.appendHeader('set-cookie', cookie);
      return location;
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
