import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { SignJWT, UnsecuredJWT } from 'jose';
import type { z } from 'zod';
import type { authSchema } from '#api/agent/auth.ts';
import type { Agent } from '#api/agent.ts';
import { agentSpecSchema } from '#api/agent.ts';
import type { Clock } from '#kit/clock.ts';
import { systemClock } from '#kit/clock.ts';
import { agentOf, startTestRouter, type TestRouter } from '../../testing/harness.ts';
import { defaultAuthSettings } from '../settings.ts';
import { startIssuer, type TestIssuer } from '../testing/issuer.ts';

type AuthInput = z.input<typeof authSchema>;
type IssuerInput = NonNullable<AuthInput['issuers']>[number];

interface Stand {
  readonly router: TestRouter;
  readonly issuer: TestIssuer;
  readonly url: string;
  /** What the agent's own endpoint answers to this token. */
  ask(token: string | undefined, headers?: Record<string, string>): Promise<Response>;
}

function withAuth(agent: Agent, auth: AuthInput): Agent {
  return { ...agent, spec: { ...agent.spec, auth: agentSpecSchema.parse({ auth }).auth } };
}

async function stand(
  t: TestContext,
  more: Partial<IssuerInput> = {},
  clock: Clock = systemClock,
): Promise<Stand> {
  const issuer = await startIssuer(t);
  const providers = { ...defaultAuthSettings.providers, loopback: true };
  const router = await startTestRouter(t, [{ name: 'demo' }], { auth: { providers }, clock });
  const auth = { issuers: [{ url: issuer.url, ...more }] };
  router.tables.set(router.agents.map((agent) => withAuth(agentOf(agent), auth)));
  const url = `${await router.listen()}/mcps/demo/mcp`;
  return {
    ...{ router, issuer, url },
    ask: (token, headers = {}) =>
      fetch(url, {
        method: 'POST',
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'initialize',
          params: {
            protocolVersion: '2025-11-25',
            capabilities: {},
            clientInfo: { name: 't', version: '1' },
          },
        }),
      }),
  };
}

async function refusal(answer: Response): Promise<string> {
  const { error, message = '' } = (await answer.json()) as { error: string; message?: string };
  return `${answer.status} ${error} ${message}`.trim();
}

describe('Bearer tokens of issuers', () => {
  it('let in who is meant, and tell the agent who it is', async (t) => {
    const { ask, issuer, url, router } = await stand(t);
    const token = await issuer.sign({ aud: url, preferred_username: 'ana', email: 'ana@example.org' });
    assert.equal((await ask(token)).status, 200);
    const [seen] = router.agents.flatMap(({ seen }) => seen);
    assert.equal(seen?.claims.sub, `${issuer.url}#ana`);
    assert.equal(seen?.claims.usr?.username, 'ana');
  });

  it('are asked for with the place of the metadata, which names the issuer', async (t) => {
    const { ask, issuer, url } = await stand(t, { scopes: ['mcp:tools'] });
    const answer = await ask(undefined);
    const { origin } = new URL(url);
    const place = `${origin}/.well-known/oauth-protected-resource/mcps/demo/mcp`;
    const challenge = answer.headers.get('www-authenticate') ?? '';
    assert.equal(await refusal(answer), '401 not_authenticated');
    assert.match(challenge, /^Bearer /);
    assert.ok(
      challenge.includes(`resource_metadata="${place}"`) && challenge.includes('scope="mcp:tools"'),
      challenge,
    );
    assert.deepEqual(await (await fetch(place)).json(), {
      resource: url,
      authorization_servers: [issuer.url],
      bearer_methods_supported: ['header'],
      scopes_supported: ['mcp:tools'],
    });
    assert.equal((await fetch(`${origin}/.well-known/oauth-protected-resource/mcps/other/mcp`)).status, 404);
  });

  it('do not count when they are for somebody else, expired, early, of another kind, or signed by another', async (t) => {
    const { ask, issuer, url } = await stand(t);
    const other = await startIssuer(t);
    const now = Math.floor(Date.now() / 1000);
    const good = await issuer.sign({ aud: url });
    const [head = '', body = '', signature = ''] = good.split('.');
    const wrong: Record<string, string> = {
      'another audience': await issuer.sign({ aud: 'https://other.example.org/mcp' }),
      'the audience of another agent': await issuer.sign({ aud: url.replace('demo', 'other') }),
      'the same path at another port': await issuer.sign({ aud: url.replace(/:\d+/, ':9') }),
      expired: await issuer.sign({ aud: url, iat: now - 100, exp: now - 11 }),
      'not yet': await issuer.sign({ aud: url, nbf: now + 60 }),
      'made in the future': await issuer.sign({ aud: url, iat: now + 60, exp: now + 120 }),
      'another issuer': await other.sign({ aud: url }),
      'another issuer under this one’s name': await other.sign({ aud: url, iss: issuer.url }),
      'an id token': await issuer.sign({ aud: url, nonce: 'n' }, { typ: 'JWT' }),
      'a logout token': await issuer.sign({ aud: url }, { typ: 'logout+jwt' }),
      'alg none': new UnsecuredJWT({ iss: issuer.url, sub: 'ana', aud: url, exp: now + 60 }).encode(),
      'a changed claim': [
        head,
        Buffer.from(Buffer.from(body, 'base64url').toString().replace('ana', 'bob')).toString('base64url'),
        signature,
      ].join('.'),
      'no signature': `${head}.${body}.`,
      nobody: await issuer.sign({ aud: url, sub: '' }),
      'no JWT': 'opaque-token',
      'too long': await issuer.sign({ aud: url, filler: 'x'.repeat(9_000) }),
    };
    for (const [what, token] of Object.entries(wrong)) {
      const answer = await ask(token);
      assert.match(await refusal(answer), /^401 invalid_token /, what);
      assert.match(
        answer.headers.get('www-authenticate') ?? '',
        /error="invalid_token".*resource_metadata=/,
        what,
      );
    }
    assert.equal((await ask(good)).status, 200);
  });

  it('signed with a public key as a shared secret do not count', async (t) => {
    const { ask, issuer, url } = await stand(t);
    const secret = new TextEncoder().encode(JSON.stringify(issuer.keys[0]));
    const kid = issuer.keys[0]?.kid ?? '';
    const forged = await new SignJWT({ iss: issuer.url, sub: 'ana', aud: url })
      .setProtectedHeader({ alg: 'HS256', kid })
      .setExpirationTime('1m')
      .sign(secret);
    assert.match(await refusal(await ask(forged)), /^401 invalid_token/);
  });

  it('count for the audiences that are written down, and only for those', async (t) => {
    const { ask, issuer, url } = await stand(t, { audiences: ['api://demo'] });
    assert.equal((await ask(await issuer.sign({ aud: ['x', 'api://demo'] }))).status, 200);
    assert.match(await refusal(await ask(await issuer.sign({ aud: url }))), /^401 invalid_token/);
  });

  it('with too little scope are refused with what is needed', async (t) => {
    const { ask, issuer, url } = await stand(t, { scopes: ['mcp:tools', 'mcp:more'] });
    const answer = await ask(await issuer.sign({ aud: url, scope: 'mcp:tools other' }));
    const challenge = answer.headers.get('www-authenticate') ?? '';
    assert.match(await refusal(answer), /^403 insufficient_scope/);
    assert.match(challenge, /error="insufficient_scope"/);
    assert.match(challenge, /scope="mcp:tools other mcp:more"/);
    assert.equal((await ask(await issuer.sign({ aud: url, scope: 'mcp:more mcp:tools' }))).status, 200);
    assert.equal(
      (await ask(await issuer.sign({ aud: url, scope: undefined, scp: ['mcp:more', 'mcp:tools'] }))).status,
      200,
    );
  });

  it('are verified once, until they expire', async (t) => {
    let late = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + late };
    const { ask, issuer, url } = await stand(t, {}, clock);
    const token = await issuer.sign({ aud: url });
    assert.equal((await ask(token)).status, 200);
    await issuer.stop();
    assert.equal((await ask(token)).status, 200);
    late = 71_000;
    assert.match(await refusal(await ask(token)), /^401 invalid_token The token has expired/);
  });

  it('of a key that is new are believed after the keys were asked for again, which happens seldom', async (t) => {
    let passed = 0;
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + passed };
    const { ask, issuer, url } = await stand(t, {}, clock);
    assert.equal((await ask(await issuer.sign({ aud: url }))).status, 200);
    await issuer.rotate();
    for (let round = 0; round < 3; round += 1) {
      assert.match(await refusal(await ask(await issuer.sign({ aud: url, round }))), /^401/);
    }
    const keysAsked = () => issuer.asked.filter((path) => path === '/jwks').length;
    assert.equal(keysAsked(), 1);
    passed = 31_000;
    assert.equal((await ask(await issuer.sign({ aud: url }))).status, 200);
    assert.equal(keysAsked(), 2);
  });

  it('cannot be judged while the issuer is not reached: 503, and no flood of questions', async (t) => {
    const { ask, issuer, url } = await stand(t);
    await issuer.stop();
    const tokens = await Promise.all([1, 2, 3].map((round) => issuer.sign({ aud: url, round })));
    for (const token of tokens) {
      assert.match(await refusal(await ask(token)), /^503 temporarily_unavailable/);
    }
  });

  it('never reach the agent: 0 of 1,000 requests, in any surface, show the client’s token or its cookies', async (t) => {
    const { ask, issuer, url, router } = await stand(t);
    const { origin } = new URL(url);
    const api = `${origin}/apis/demo`;
    const tokens = { mcp: await issuer.sign({ aud: url }), api: await issuer.sign({ aud: api }) };
    const headers = (token: string) => ({
      authorization: `Bearer ${token}`,
      cookie: 'ploinky_canary=1; other=canary',
      'proxy-authorization': 'Basic canary',
      'x-marker': 'seen',
    });
    const list = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: {} } };
    const session = {
      'mcp-session-id': (await ask(tokens.mcp)).headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': '2025-11-25',
    };
    for (let round = 0; round < 500; round += 1) {
      const called = await fetch(url, {
        method: 'POST',
        headers: {
          ...session,
          ...headers(tokens.mcp),
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        },
        body: JSON.stringify(list),
      });
      await called.text();
      const answer = await fetch(`${api}/page?round=${round}`, { headers: headers(tokens.api) });
      await answer.text();
    }
    const seen = router.agents.flatMap((agent) => agent.seen);
    const shown = seen.map(({ url: path, headers: all, body }) => JSON.stringify([path, all, body]));
    assert.ok(shown.length >= 1_000, String(shown.length));
    const leaks = shown.filter((text) =>
      [tokens.mcp, tokens.api, 'canary'].some((secret) => text.includes(secret)),
    );
    assert.deepEqual(leaks, []);
    // The control: what a client sends besides does arrive, and would have been seen.
    assert.ok(shown.filter((text) => text.includes('"x-marker":"seen"')).length >= 500);
  });
});
