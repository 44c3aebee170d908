import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { codeOf } from '#kit/errors.ts';
import { silentLog } from '#kit/log.ts';
import type { TokenPlace } from '../discovery.ts';
import type { Fetch } from '../fetch.ts';
import { holdClients } from './clients.ts';
import { beginLogin, finishLogin, type TokenSet } from './flow.ts';
import { LoginTokens } from './login-tokens.ts';
import type { KnownClient, RegistrationOptions } from './registration.ts';
import { chooseScopes } from './scopes.ts';

const url = new URL('https://mcp.test/mcp');
const redirectUri = 'https://router.test/auth/upstream/default/demo/callback';
const fetch: Fetch = async (address) => Response.json({ error: address }, { status: 500 });
const flow = { url, issuer: undefined, secrets: () => ({ headers: {} }), fetch, clock: systemClock };
const client: KnownClient = { issuer: 'https://auth.test', clientId: 'c', origin: 'spec', redirectUri };

function placeOf(server: Partial<TokenPlace['server']>): TokenPlace {
  const known = {
    authorization_endpoint: 'https://auth.test/authorize',
    code_challenge_methods_supported: ['S256'],
  };
  const issuer = 'https://auth.test';
  return {
    server: { issuer, token_endpoint: `${issuer}/token`, ...known, ...server },
    resource: url.href,
    scopes: [],
  };
}

const become = (more: Partial<RegistrationOptions> = {}): RegistrationOptions => ({
  ...{ url, issuer: undefined, clientId: undefined, redirectUri, document: undefined, fetch },
  ...more,
});

test('nobody logs in without PKCE, nor at a page in clear', async () => {
  const begun = await beginLogin(placeOf({}), client, [], flow);
  assert.equal(begun.url.searchParams.get('code_challenge_method'), 'S256', 'the control');
  for (const methods of [[], ['plain']])
    await assert.rejects(
      beginLogin(placeOf({ code_challenge_methods_supported: methods }), client, [], flow),
      /PKCE/,
    );
  const clear = placeOf({ authorization_endpoint: 'http://auth.test/authorize' });
  await assert.rejects(beginLogin(clear, client, [], flow), /not https/);
});

test('an answer without the state of the login is none, whatever else it says', async () => {
  const begun = await beginLogin(placeOf({}), client, [], flow);
  for (const state of ['', 'other']) {
    const answer = new URLSearchParams({ code: 'c', state });
    await assert.rejects(finishLogin(begun, answer, flow), /not the one of https:\/\/auth.test/);
  }
  const denied = new URLSearchParams({ error: 'access_denied', state: begun.state });
  await assert.rejects(finishLogin(begun, denied, flow), /says no \(access_denied\)/);
});

test('the client of the spec is shown to no other authorization server than the first, but where the spec names one', async () => {
  const clients = holdClients(() => 0);
  const one = { issuer: 'https://auth.test' };
  const other = { issuer: 'https://other.test' };
  assert.equal((await clients.at(one, become({ clientId: 'c' }))).clientId, 'c');
  await assert.rejects(clients.at(other, become({ clientId: 'c' })), /now trusts https:\/\/other.test/);
  const named = become({ clientId: 'c', issuer: 'https://other.test' });
  assert.equal((await clients.at(other, named)).issuer, 'https://other.test');
});

test('people who come at once are one registration, and one whose secret has ended is made anew', async () => {
  let count = 0;
  const register: Fetch = async () => {
    count += 1;
    const ends = { client_secret: 's', client_secret_expires_at: 100 };
    return Response.json({ client_id: `c${count}`, ...ends }, { status: 201 });
  };
  let now = 0;
  const clients = holdClients(() => now);
  const server = { issuer: 'https://auth.test', registration_endpoint: 'https://auth.test/register' };
  const options = become({ fetch: register });
  const all = await Promise.all(Array.from({ length: 5 }, () => clients.at(server, options)));
  assert.deepEqual([count, new Set(all.map(({ clientId }) => clientId)).size], [1, 1]);
  now = 100_000;
  assert.equal((await clients.at(server, options)).clientId, 'c2');
});

test('scopes are those of the spec alone, or what was asked for with what was asked for before', () => {
  const place = { ...placeOf({ scopes_supported: ['read', 'offline_access'] }), scopes: ['read'] };
  assert.deepEqual(chooseScopes(['own'], ['write'], ['read'], place), ['own']);
  assert.deepEqual(chooseScopes(undefined, ['write'], ['read'], place), ['read', 'write', 'offline_access']);
  assert.deepEqual(chooseScopes(undefined, [], [], place), ['read', 'offline_access']);
  assert.deepEqual(chooseScopes(undefined, [], [], placeOf({ scopes_supported: ['offline_access'] })), []);
});

/** One person at a server that knows RFC 7591; what its token endpoint answers is each test's. */
function personAt(token: () => Response, registered: Partial<KnownClient> = { origin: 'registered' }) {
  const server = { ...placeOf({}).server, registration_endpoint: 'https://auth.test/register' };
  let registrations = 0;
  const answers: Fetch = async (address) => {
    if (String(address).endsWith('/token')) return token();
    if (String(address).endsWith('/register')) {
      registrations += 1;
      return Response.json({ client_id: `c${registrations}` }, { status: 201 });
    }
    return String(address).includes('oauth-protected-resource')
      ? Response.json({ resource: url.href, authorization_servers: ['https://auth.test'] })
      : Response.json(server);
  };
  const clients = holdClients(() => 0);
  const kept: TokenSet = {
    client: { ...client, method: 'none', ...registered },
    ...{ resource: url.href, access: 'old', refresh: 'r', scopes: [], had: 0, ends: 1 },
  };
  const sets: (TokenSet | undefined)[] = [];
  const make = (from?: TokenSet) =>
    new LoginTokens({
      ...{ ...flow, fetch: answers, clientId: undefined, scopes: undefined, clients, log: silentLog },
      ...{ visit: undefined, kept: from, keep: (set) => void sets.push(set) },
    });
  return { make, kept, sets, count: () => registrations };
}

const says = (status: number, error: string) => () => Response.json({ error }, { status });

test('a server that is busy, or does not know the proof of the client, ends no login', async () => {
  for (const [answer, code, origin] of [
    [says(429, 'slow_down'), 'UpstreamLost', 'spec'],
    [says(400, 'temporarily_unavailable'), 'UpstreamLost', 'spec'],
    [says(408, 'invalid_request'), 'UpstreamLost', 'spec'],
    [says(401, 'invalid_client'), 'UpstreamUnauthorized', 'spec'],
    [says(400, 'invalid_scope'), 'UpstreamUnauthorized', 'registered'],
  ] as const) {
    let now: () => Response = answer;
    const { make, kept, sets } = personAt(() => now(), { origin });
    const tokens = make(kept);
    await assert.rejects(tokens.current(), (error) => codeOf(error) === code);
    assert.deepEqual([sets, tokens.isLoggedIn], [[], true]);
    now = () => Response.json({ access_token: 'new', token_type: 'bearer' });
    assert.equal(await tokens.current(), 'new');
  }
});

test('a refresh token that is none any more ends the login, and so does a registration that is lost', async () => {
  for (const answer of [says(400, 'invalid_grant'), says(401, 'invalid_client')]) {
    const { make, kept, sets } = personAt(answer);
    const tokens = make(kept);
    assert.equal(await tokens.current(), undefined);
    assert.deepEqual([sets, tokens.isLoggedIn], [[undefined], false]);
  }
});

test('who says no, or brings a wrong answer, costs no new registration; a client that is unknown does', async () => {
  let answer = says(400, 'invalid_grant');
  const { make, count } = personAt(() => answer());
  const back = { redirectUri, document: undefined };
  const come = async (query: Record<string, string>) => {
    const tokens = make();
    const begun = await tokens.begin(back);
    await assert.rejects(tokens.finish(begun, new URLSearchParams({ state: begun.state, ...query })));
  };
  await come({ error: 'access_denied' });
  await come({ error: 'unauthorized_client' });
  await come({ code: 'c', iss: 'https://other.test' });
  await come({ code: 'made-up' });
  assert.equal(count(), 1);
  answer = says(401, 'invalid_client');
  await come({ code: 'c' });
  await make().begin(back);
  assert.equal(count(), 2);
});
