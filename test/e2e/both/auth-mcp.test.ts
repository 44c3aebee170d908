import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startIssuer, type TestIssuer } from '#router/auth/testing/issuer.ts';
import {
  type IdentityProvider,
  missingProvider,
  startIdentityProvider,
  valuesForProviders,
} from '#test/fixtures/oidc/identity-provider.ts';
import { type AuthorizedClient, connectAuthorized } from '#test/fixtures/oidc/mcp-client.ts';
import { personNamed } from '#test/fixtures/oidc/person.ts';
import { createPlace, missingPlace, ownAddress, type Place } from '#test/fixtures/place/place.ts';

// MCP clients that come with a token of an issuer: the SDK's own OAuth client with npm's oidc-provider, and tokens that must not count.

const skip =
  missingPlace ||
  (missingProvider ?? false) ||
  (ownAddress === undefined && 'this machine is in no network that the routers in pods reach');

function agent(name: string, issuers: readonly object[]): string {
  return JSON.stringify({
    apiVersion: 'ploinky.dev/v1alpha1',
    kind: 'Agent',
    metadata: { name },
    spec: {
      auth: {
        issuers,
        allow: [
          { tools: ['dump'], scopes: ['mcp:tools'] },
          { tools: ['reset'], scopes: ['mcp:admin'] },
        ],
      },
      mcp: {
        tools: [
          { name: 'dump', description: 'Tells all that it is told.', command: 'cat; env' },
          { name: 'reset', description: 'For admins.', command: 'echo done' },
        ],
      },
    },
  });
}

describe('MCP authorization', { skip, timeout: 300_000 }, () => {
  let place: Place;
  let provider: IdentityProvider;
  let issuer: TestIssuer;
  let url = '';
  let client: AuthorizedClient;
  const ends: (() => unknown)[] = [];
  const newIssuer = () => startIssuer({ after: (end: () => unknown) => ends.push(end) } as never, ownAddress);
  before(async () => {
    provider = await startIdentityProvider({ router: 'http://localhost', host: ownAddress });
    issuer = await newIssuer();
    place = await createPlace({
      examples: [],
      values: (at) => [`router.publicUrl=${at}`, ...valuesForProviders(ownAddress ?? '')],
    });
    const issuers = [provider.issuer, issuer.url].map((at) => ({ url: at, scopes: ['mcp:tools'] }));
    const file = join(place.folder, 'desk.yaml');
    await writeFile(file, ['desk', 'other'].map((name) => `---\n${agent(name, issuers)}\n`).join(''));
    url = `${await place.up(file)}/mcps/desk/mcp`;
  });
  after(async () => {
    await client?.close();
    await place?.remove();
    await provider?.close();
    for (const end of ends) await end();
  });

  async function ask(at: string, token?: string): Promise<string> {
    const answer = await fetch(at, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } },
      }),
    });
    await answer.text();
    return `${answer.status} ${/error="(\w+)"/.exec(answer.headers.get('www-authenticate') ?? '')?.[1] ?? ''}`.trim();
  }

  it('is found, registered for and agreed to by the SDK’s client, for this endpoint alone', async () => {
    client = await connectAuthorized(url, personNamed('ana'), provider.near);
    const [visit] = client.visits;
    assert.equal(client.visits.length, 1);
    assert.equal(visit?.searchParams.get('resource'), url);
    assert.equal(visit?.searchParams.get('code_challenge_method'), 'S256');
    assert.equal(visit?.searchParams.get('scope'), 'mcp:tools');
    assert.equal(visit?.searchParams.get('client_id'), client.registered());
    assert.ok(provider.asked.includes('POST /reg'));
    const { tools } = await client.client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ['dump'],
    );
  });

  it('tells the tool who calls, and nothing of the token', async () => {
    const told = await client.call('dump');
    assert.match(told, /"username":"ana"/);
    assert.match(told, new RegExp(`"id":"${provider.issuer}#ana"`));
    const token = client.token() ?? '';
    assert.ok(token.length > 100 && !told.includes(token) && !told.includes(token.split('.')[2] ?? ''));
  });

  it('asks for more only when a tool needs more', async () => {
    assert.equal((await client.call('reset')).trim(), 'done');
    assert.equal(client.visits.length, 2);
    assert.deepEqual(client.visits[1]?.searchParams.get('scope')?.split(' ').sort(), [
      'mcp:admin',
      'mcp:tools',
    ]);
    const { tools } = await client.client.listTools();
    assert.deepEqual(tools.map(({ name }) => name).sort(), ['dump', 'reset']);
  });

  it('refuses tokens for others, of others, and those that expired', async () => {
    const now = Math.floor(Date.now() / 1000);
    const stranger = await newIssuer();
    assert.equal(await ask(url), '401');
    assert.equal(await ask(url, await issuer.sign({ aud: url })), '200');
    assert.equal(await ask(url.replace('desk', 'other'), client.token()), '401 invalid_token');
    assert.equal(
      await ask(url, await issuer.sign({ aud: url.replace('desk', 'other') })),
      '401 invalid_token',
    );
    assert.equal(await ask(url, await stranger.sign({ aud: url })), '401 invalid_token');
    assert.equal(await ask(url, await stranger.sign({ aud: url, iss: issuer.url })), '401 invalid_token');
    assert.equal(
      await ask(url, await issuer.sign({ aud: url, iat: now - 99, exp: now - 11 })),
      '401 invalid_token',
    );
    assert.equal(await ask(url, await issuer.sign({ aud: url, scope: 'other' })), '403 insufficient_scope');
  });

  it('lets a person say no', async () => {
    const refusing = {
      visit: async (location: string) =>
        new URL(
          `${new URL(location).searchParams.get('redirect_uri')}?error=access_denied&iss=${provider.issuer}`,
        ),
    };
    await assert.rejects(connectAuthorized(url, refusing, provider.near), /access_denied/);
  });
});
