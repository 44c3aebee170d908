import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import type { SsoAccess } from '#routing/access.ts';
import {
  type IdentityProvider,
  missingProvider,
  startIdentityProvider,
} from '#test/fixtures/oidc/identity-provider.ts';
import { personNamed } from '#test/fixtures/oidc/person.ts';
import { masterKey } from '#wire/testing.ts';
import { createRouterKeys } from '../../keys.ts';
import { createDiscovery } from '../outgoing/discover.ts';
import { createOutgoing } from '../outgoing/fetch.ts';
import { defaultAuthSettings } from '../settings.ts';
import type { Flow, SsoLogin, SsoRealm } from './flow.ts';
import { createProviders } from './provider.ts';
import { createSso, type Sso } from './sso.ts';

const origin = 'http://localhost:8080';
const masters = [masterKey(1)];

interface Stand {
  readonly provider: IdentityProvider;
  readonly sso: Sso;
  readonly where: SsoRealm;
  /** Another router of the same keys. */
  readonly replica: Sso;
  /** Ids of sessions and of people whose sessions were ended. */
  readonly ended: Set<string>;
  /** Moves the router's clock. */
  pass(ms: number): void;
}

async function stand(t: TestContext, more: Partial<SsoAccess> = {}): Promise<Stand> {
  const provider = await startIdentityProvider({ router: origin });
  t.after(() => provider.close());
  let passed = 0;
  const ended = new Set<string>();
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + passed,
    monotonic: () => systemClock.monotonic() + passed,
  };
  const rules = { loopback: true, hosts: [] };
  const value = (key: string) => (key === 'secret' ? 'only-for-this-machine' : undefined);
  const router = () => {
    const outgoing = createOutgoing({ rules, clock, resolve: async () => ['127.0.0.1'] });
    const providers = createProviders(outgoing, createDiscovery(outgoing, clock), value);
    const keys = createRouterKeys({ current: () => masters });
    const hasEnded: Flow['hasEnded'] = ({ sid, user }) => ended.has(sid) || ended.has(user);
    return createSso({ keys, clock, auth: defaultAuthSettings, log: silentLog, providers, hasEnded });
  };
  const access: SsoAccess = {
    issuer: provider.issuer,
    clientId: 'ploinky',
    clientSecretKey: 'secret',
    scopes: ['profile', 'email', 'groups', 'offline_access'],
    rolesClaim: 'groups',
    roles: [
      { value: 'staff', role: 'member' },
      { value: 'admins', role: 'admin' },
    ],
    ...more,
  };
  return {
    ...{ provider, ended },
    sso: router(),
    replica: router(),
    where: { realm: 'r', sso: access },
    pass: (ms) => {
      passed += ms;
    },
  };
}

/** A request of the browser that has these cookies. */
function browser(cookies: readonly string[] = []): IncomingMessage {
  const pairs = cookies.map((line) => line.split(';')[0] ?? '').filter((pair) => !pair.endsWith('='));
  return { headers: { cookie: pairs.join('; ') } } as unknown as IncomingMessage;
}

/** The cookies of a browser after a login: its session is `s1`, for a week. */
function cookiesOf(login: SsoLogin | undefined): string[] {
  assert.ok(login);
  const now = systemClock.now();
  const before = login.before ?? { sid: 's1', begun: now, until: now + defaultAuthSettings.sessionMaxMs };
  return [...login.cookies, login.keep(before)];
}

async function comeBack({ sso, where }: Stand, name = 'ana') {
  const begun = await sso.begin(browser(), where, { origin, returnTo: '/team/index.html' });
  const back = await personNamed(name).visit(begun.location);
  return { begun, back, request: browser(begun.cookies), query: back.searchParams };
}

const refused = (status: number, code: string) => (error: { details?: { status: number; code: string } }) =>
  error.details?.status === status && error.details.code === code;

describe('Logging in at an OpenID Connect provider', { skip: missingProvider ?? false }, () => {
  it('asks with PKCE, state and nonce, and learns who it is and which roles their groups give', async (t) => {
    const place = await stand(t);
    const { begun, back, request, query } = await comeBack(place);
    const asked = new URL(begun.location).searchParams;
    assert.equal(asked.get('code_challenge_method'), 'S256');
    for (const name of ['state', 'nonce', 'code_challenge'])
      assert.ok((asked.get(name) ?? '').length >= 43, name);
    assert.equal(asked.get('redirect_uri'), `${origin}/auth/callback`);
    assert.match(
      begun.cookies[0] ?? '',
      /^ploinky_login_[0-9a-f]{12}=[\w-]+; Path=\/auth; HttpOnly; SameSite=Lax; Max-Age=300$/,
    );
    assert.equal(back.pathname, '/auth/callback');
    assert.equal(query.get('iss'), place.provider.issuer);
    assert.equal(place.sso.pending(request, query).returnTo, '/team/index.html');
    const { user, claims } = await place.sso.finish(request, place.where, query);
    const id = `${place.provider.issuer}#ana`;
    assert.deepEqual(user, {
      sub: id,
      id,
      email: 'ana@example.org',
      username: 'ana',
      roles: ['member', 'admin'],
    });
    assert.deepEqual(claims['groups'], ['staff', 'admins']);
  });

  it('is refused in another browser, twice, too late, or with anything changed', async (t) => {
    const place = await stand(t);
    const { sso, where } = place;
    const { request, query } = await comeBack(place);
    const changed = (name: string, value: string) => {
      const copy = new URLSearchParams(query);
      copy.set(name, value);
      return copy;
    };
    const expired = refused(401, 'login_expired');
    const failed = refused(401, 'login_failed');
    await assert.rejects(sso.finish(browser(), where, query), expired);
    await assert.rejects(sso.finish(request, { ...where, realm: 'other' }, query), expired);
    await assert.rejects(sso.finish(request, where, changed('state', 'x'.repeat(43))), expired);
    await assert.rejects(sso.finish(request, where, changed('iss', 'https://other.example.org')), failed);
    await assert.rejects(sso.finish(request, where, changed('code', 'nothing')), failed);
    await sso.finish(request, where, query);
    await assert.rejects(sso.finish(request, where, query), failed);
    const later = await comeBack(place);
    place.pass(301_000);
    await assert.rejects(sso.finish(later.request, where, later.query), expired);
  });

  it('is finished, renewed and ended by any router', async (t) => {
    const place = await stand(t);
    const { replica, where } = place;
    const { request, query } = await comeBack(place);
    const login = await replica.finish(request, where, query);
    assert.equal(login.user.username, 'ana');
    const renewed = await place.sso.renew(browser(cookiesOf(login)), where, origin);
    assert.equal(renewed?.user.username, 'ana');
  });

  it('is refused with a code that another login was given', async (t) => {
    const place = await stand(t);
    const mine = await comeBack(place, 'ana');
    const theirs = await comeBack(place, 'ben');
    const mixed = new URLSearchParams(mine.query);
    mixed.set('code', theirs.query.get('code') ?? '');
    await assert.rejects(place.sso.finish(mine.request, place.where, mixed), refused(401, 'login_failed'));
  });

  it('says so when the person said no', async (t) => {
    const place = await stand(t);
    const begun = await place.sso.begin(browser(), place.where, { origin, returnTo: '/' });
    const state = new URL(begun.location).searchParams.get('state') ?? '';
    const query = new URLSearchParams({ error: 'access_denied', state, iss: place.provider.issuer });
    await assert.rejects(
      place.sso.finish(browser(begun.cookies), place.where, query),
      refused(401, 'login_denied'),
    );
  });

  it('goes on by the refresh token until it is used up, and is ended at the provider', async (t) => {
    const place = await stand(t);
    const { sso, where } = place;
    const { request, query } = await comeBack(place);
    const first = await sso.finish(request, where, query);
    const cookies = cookiesOf(first);
    assert.ok(cookies.every((cookie) => cookie.includes('Path=/auth;') && cookie.length < 4_096));
    const second = await sso.renew(browser(cookies), where, origin);
    assert.deepEqual(second?.user, first.user);
    const ended = await sso.end(browser(cookiesOf(second)), where, {
      origin,
      afterwards: '/auth/logged-out',
    });
    const away = new URL(ended ?? '');
    assert.equal(away.searchParams.get('post_logout_redirect_uri'), `${origin}/auth/logged-out`);
    assert.ok(away.searchParams.has('id_token_hint'));
    // A refresh token that was exchanged is good no more: the provider asks the person.
    assert.equal(await sso.renew(browser(cookies), where, origin), undefined);
    assert.equal(await sso.renew(browser(), where, origin), undefined);
  });

  it('does not go on once it was ended here or everywhere, or after its time', async (t) => {
    const place = await stand(t);
    const { sso, where } = place;
    const { request, query } = await comeBack(place);
    const kept = browser(cookiesOf(await sso.finish(request, where, query)));
    for (const id of ['s1', `${place.provider.issuer}#ana`]) {
      place.ended.add(id);
      assert.equal(await sso.renew(kept, where, origin), undefined, id);
      place.ended.delete(id);
    }
    const week = defaultAuthSettings.sessionMaxMs;
    place.pass(week + 1_000);
    assert.equal(await sso.renew(kept, where, origin), undefined, 'after a week');
    place.pass(-week);
    const renewed = await sso.renew(kept, where, origin);
    assert.equal(renewed?.before?.sid, 's1', 'the control: the refresh token was good all the time');
  });

  it('is 503 while the provider cannot be reached, or its secret is missing', async (t) => {
    const place = await stand(t);
    const { sso, where } = place;
    const lacking = { ...where, sso: { ...where.sso, clientSecretKey: 'gone' } };
    const at = { origin, returnTo: '/' };
    await assert.rejects(sso.begin(browser(), lacking, at), refused(503, 'provider_not_set_up'));
    const { request, query } = await comeBack(place);
    await place.provider.close();
    await assert.rejects(sso.finish(request, where, query), refused(503, 'provider_unreachable'));
    place.pass(3_600_001);
    await assert.rejects(sso.begin(browser(), where, at), refused(503, 'provider_unreachable'));
  });
});
