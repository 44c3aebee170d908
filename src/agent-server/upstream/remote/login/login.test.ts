import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import type { TokenPlace } from '../discovery.ts';
import type { Fetch } from '../fetch.ts';
import { holdClients } from './clients.ts';
import { beginLogin, finishLogin } from './flow.ts';
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
