import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { authSchema } from '#api/agent/auth.ts';
import { systemClock } from '#kit/clock.ts';
import { copiedKey } from '#routing/access.ts';
import { routeNamed } from '#routing/testing.ts';
import { missingProvider, startIdentityProvider } from '#test/fixtures/oidc/identity-provider.ts';
import { personNamed } from '#test/fixtures/oidc/person.ts';
import { agentOf, startTestRouter } from '../../testing/harness.ts';
import { defaultAuthSettings } from '../settings.ts';

const skip = missingProvider ?? false;
const hour = 3_600_000;
const own = 'team.example.org';

interface Browser {
  readonly cookies: Map<string, string>;
  /** Asks the router, and gives where it leads. */
  ask(url: string, more?: { readonly method?: 'POST'; readonly host?: string }): Promise<string>;
  copy(): Browser;
}

/** A router whose agent asks for a login at a provider; its clock can be moved. */
async function stand(t: TestContext, publicOrigin?: string) {
  let passed = 0;
  const clock = { ...systemClock, now: () => systemClock.now() + passed };
  const providers = { ...defaultAuthSettings.providers, loopback: true, resolve: async () => ['127.0.0.1'] };
  const secretRef = { name: 'sso', key: 'secret' };
  const secret = Buffer.from('only-for-this-machine').toString('base64');
  const data = { [copiedKey('secret', 'default', secretRef)]: secret };
  const router = await startTestRouter(t, [{ name: 'demo' }], {
    ...{ clock, people: { current: () => data }, allowedHosts: ['agents.example.org'] },
    auth: { providers, ...(publicOrigin !== undefined && { publicOrigin }) },
  });
  const provider = await startIdentityProvider({ router: publicOrigin ?? 'http://localhost' });
  let isOpen = true;
  const close = async () => {
    if (isOpen) await provider.close();
    isOpen = false;
  };
  t.after(close);
  const scopes = ['profile', 'email', 'offline_access'];
  const sso = { issuer: provider.issuer, clientId: 'ploinky', clientSecretRef: secretRef, scopes };
  const auth = authSchema.parse({ mode: 'sso', sso });
  const [demo] = router.agents;
  assert.ok(demo);
  const agent = agentOf(demo);
  const route = routeNamed('team', { selector: {}, hosts: [own], static: {}, auth: { mode: 'sso', sso } });
  router.tables.set([{ ...agent, spec: { ...agent.spec, auth } }], [route]);

  const browser = (cookies = new Map<string, string>()): Browser => ({
    cookies,
    copy: () => browser(new Map(cookies)),
    async ask(url, { method, host = 'localhost' } = {}) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const headers = { host, cookie, accept: 'text/html' };
      const json = { accept: 'application/json', 'content-type': 'application/json' };
      const answer = await router.inject(
        method === undefined
          ? { method: 'GET', url, headers }
          : { method, url, headers: { ...headers, ...json }, payload: '{"everywhere":"true"}' },
      );
      for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
        const [name = '', value = ''] = (String(line).split(';')[0] ?? '').split(/=(.*)/s);
        if (value === '') cookies.delete(name);
        else cookies.set(name, value);
      }
      return String(answer.headers['location'] ?? answer.statusCode);
    },
  });
  const logIn = async () => {
    const made = browser();
    const back = await personNamed('ana').visit(await made.ask('/auth/login?returnTo=/demo/'));
    assert.equal(await made.ask(`/auth/callback${back.search}`), '/demo/');
    return made;
  };
  /** Where a browser gets that wants in: into `/demo/`, or to the provider, which asks who it is. */
  const comeIn = async (one: Browser) => {
    const at = await one.ask('/auth/login?returnTo=/demo/');
    return at.startsWith(provider.issuer) ? 'asked' : at;
  };
  const pass = (ms: number) => {
    passed += ms;
  };
  return { logIn, comeIn, pass, browser, closeProvider: close };
}

it('A login that was ended everywhere goes on in no other browser', { skip }, async (t) => {
  const { logIn, comeIn } = await stand(t);
  const mine = await logIn();
  const other = await logIn();
  assert.equal(await mine.ask('/auth/logout', { method: 'POST' }), '200');
  assert.equal(await comeIn(other), 'asked');
});

it('A login goes on after its session, as the control, and not after a logout that came later', {
  skip,
}, async (t) => {
  const { logIn, comeIn, pass } = await stand(t);
  const one = await logIn();
  const two = await logIn();
  const copied = two.copy();
  pass(5 * hour);
  assert.equal(await comeIn(one), '/demo/', 'the control');
  assert.equal(await two.ask('/auth/logout', { method: 'POST' }), '200');
  assert.deepEqual(
    [...two.cookies.keys()].filter((name) => name.startsWith('ploinky_sso_')),
    [],
  );
  assert.equal(await comeIn(two), 'asked');
  assert.equal(await comeIn(copied), 'asked', 'nor in a browser with a copy of the cookies');
});

it('A logout forgets the login also while the provider cannot be reached', { skip }, async (t) => {
  const { logIn, closeProvider } = await stand(t);
  const one = await logIn();
  await closeProvider();
  assert.equal(await one.ask('/auth/logout', { method: 'POST' }), '200');
  assert.deepEqual(
    [...one.cookies.keys()].filter((name) => name.startsWith('ploinky_')),
    [],
  );
});

it('The provider sends people back to the host that they left', { skip }, async (t) => {
  const { browser } = await stand(t, 'https://agents.example.org');
  const one = browser();
  const ask = async (host: string) =>
    new URL(await one.ask('/auth/login?returnTo=/demo/', { host })).searchParams.get('redirect_uri');
  assert.equal(await ask(own), `https://${own}/auth/callback`);
  assert.equal(await ask('agents.example.org'), 'https://agents.example.org/auth/callback');
  assert.deepEqual(
    [...one.cookies.keys()].filter((name) => !name.startsWith('__Host-ploinky_login_')),
    [],
  );
});
