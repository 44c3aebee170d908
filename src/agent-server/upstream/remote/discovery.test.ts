import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { silentLog } from '#kit/log.ts';
import { AgentServerError } from '../../errors.ts';
import { findTokenPlace } from './discovery.ts';
import type { Fetch } from './fetch.ts';
import { createTokens } from './tokens.ts';

const url = new URL('https://mcp.test/mcp');
const metadataAt = 'https://mcp.test/.well-known/oauth-protected-resource/mcp';
const serverOf = (issuer: string) => ({ issuer, token_endpoint: `${issuer}/token` });

/** Answers with the documents at these addresses; an error is one that the request ends with. */
function web(documents: Record<string, object>): { fetch: Fetch; asked: string[] } {
  const asked: string[] = [];
  const fetch: Fetch = async (address) => {
    asked.push(address);
    const found = documents[address];
    if (found instanceof Error) throw found;
    return found === undefined ? new Response(null, { status: 404 }) : Response.json(found);
  };
  return { fetch, asked };
}

const unreached = new AgentServerError('UpstreamNotAllowed', 'mcp.test cannot be reached');

test('an authorization server that the spec names is used also when the metadata cannot be reached', async () => {
  const issuer = 'https://auth.test';
  const { fetch } = web({
    [metadataAt]: unreached,
    'https://mcp.test/.well-known/oauth-protected-resource': unreached,
    [`${issuer}/.well-known/oauth-authorization-server`]: serverOf(issuer),
  });
  const { server, resource } = await findTokenPlace({ url, issuer, metadata: undefined, fetch });
  assert.equal(server.token_endpoint, 'https://auth.test/token');
  assert.equal(resource, url.href);
  const unnamed = findTokenPlace({ url, issuer: undefined, metadata: undefined, fetch });
  await assert.rejects(unnamed, unreached);
});

for (const here of ['http://localhost:8080', 'http://127.0.0.1:8080', 'http://[::1]:8080']) {
  test(`a server elsewhere leads nobody to ${here}`, async () => {
    const issuer = 'https://auth.test';
    const { fetch, asked } = web({
      [metadataAt]: { resource: url.href, authorization_servers: [here] },
      [`${issuer}/.well-known/oauth-authorization-server`]: { issuer, token_endpoint: `${here}/token` },
    });
    const options = { url, fetch };
    await assert.rejects(
      findTokenPlace({ ...options, issuer: undefined, metadata: undefined }),
      /is not https/,
    );
    await assert.rejects(
      findTokenPlace({ ...options, issuer: undefined, metadata: `${here}/x` }),
      /is not https/,
    );
    const secrets = { headers: {}, clientSecret: 'secret' };
    const rest = { clientId: 'agent', scopes: undefined, clock: systemClock, log: silentLog };
    const tokens = createTokens({ ...options, ...rest, issuer, secrets: () => secrets });
    const refused = {
      status: 401,
      error: undefined,
      description: undefined,
      scopes: [],
      metadata: undefined,
    };
    await assert.rejects(tokens.renew(refused, undefined), /HTTPS/);
    assert.deepEqual(
      asked.filter((address) => !address.startsWith('https:')),
      [],
    );
  });
}

test('what the spec names on this machine is asked in clear', async () => {
  const issuer = 'http://127.0.0.1:8080';
  const { fetch } = web({ [`${issuer}/.well-known/oauth-authorization-server`]: serverOf(issuer) });
  const { server } = await findTokenPlace({ url, issuer, metadata: undefined, fetch });
  assert.equal(server.issuer, issuer);
});
