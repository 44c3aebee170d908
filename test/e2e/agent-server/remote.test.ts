import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { type AddressInfo, createServer } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { AgentServerOptions } from '#agent-server/server.ts';
import {
  eventually,
  openSession,
  type TestServer,
  testConfig,
  testServer,
  tokenFor,
  toolCall,
} from '#agent-server/testing/harness.ts';
import type { AgentServerConfig } from '#api/agent-server-config.ts';
import type { EgressRule } from '#api/egress.ts';
import type { Log } from '#kit/log.ts';
import { systemRandom } from '#kit/random.ts';
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '#test/fixtures/remote/authorization-server.ts';
import { type GuardedServer, guardServer, type Refusal } from '#test/fixtures/remote/guarded-server.ts';
import {
  type Hosts,
  missingRemote,
  startEverything,
  startHosts,
} from '#test/fixtures/remote/remote-place.ts';
import { bindHandOver } from '#wire/binding.ts';
import { handOver, handOverPath } from '#wire/hand-over.ts';

// An agent whose tools are those of somebody else's server: @modelcontextprotocol/server-everything behind https, with
// oidc-provider as its authorization server, both reached through the egress proxy.

const options = { timeout: 120_000, ...(missingRemote !== undefined && { skip: missingRemote }) };
const url = 'https://mcp.test/mcp';
const names = { 'mcp.test': '203.0.113.10', 'auth.test': '203.0.113.11', 'inward.test': '10.1.2.3' };
const rules: EgressRule[] = [{ host: 'mcp.test' }, { host: 'auth.test' }];
const secret = 'canary-client-secret';

const cases: (readonly [string, (t: TestContext) => Promise<void>])[] = [];
const add = (name: string, run: (t: TestContext) => Promise<void>) => cases.push([name, run]);

interface Place {
  readonly hosts: Hosts;
  readonly guarded: GuardedServer;
  /** Everything that the agent-server logged. */
  readonly logged: () => string;
  start(
    changes?: Partial<AgentServerConfig>,
    allowed?: readonly EgressRule[],
    more?: Partial<AgentServerOptions>,
  ): Promise<Agent>;
}

interface Agent {
  readonly server: TestServer;
  readonly config: AgentServerConfig;
  call(text: string): Promise<string>;
}

async function place(t: TestContext, issuers: readonly string[] = [], resource = url): Promise<Place> {
  const hosts = await startHosts(t, names);
  const everything = await startEverything(t);
  const guarded = await guardServer(hosts, 'mcp.test', everything.port, issuers, resource);
  const { log, lines } = listeningLog();
  return {
    hosts,
    guarded,
    logged: () => lines.join('\n'),
    async start(changes, allowed = rules, more = {}) {
      const forward = { ...hosts.forward(allowed), listen: await freePort() };
      const remote = { mcp: { upstream: { url } }, upstream: { headers: {}, ca: hosts.ca } };
      const wanted = { forwards: [forward], ...remote, ...changes };
      const server = await testServer(t, wanted, { log, ...more });
      const config = testConfig(server.code, wanted);
      return { server, config, call: caller(server) };
    },
  };
}

function caller(server: TestServer): Agent['call'] {
  let session: Promise<string> | undefined;
  return async (message) => {
    session ??= openSession(server);
    const answer = await server.post(toolCall('echo', { message }), { 'mcp-session-id': await session });
    return answer.json.result?.content[0]?.text ?? answer.json.error?.message ?? answer.text;
  };
}

function listeningLog(): { log: Log; lines: string[] } {
  const lines: string[] = [];
  const note = (message: string, fields?: object) =>
    lines.push(`${message} ${JSON.stringify(fields, plain)}`);
  const log: Log = { debug: note, info: note, warn: note, error: note, with: () => log };
  return { log, lines };
}

function plain(_key: string, value: unknown): unknown {
  return value instanceof Error ? `${value.message} ${value.stack}` : value;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function stateOf(server: TestServer): Promise<Record<string, unknown>> {
  const response = await fetch(`${server.url}/changes`);
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    const line = /^\{"type":"state".*$/m.exec(text)?.[0];
    if (line !== undefined && text.includes(`${line}\n`)) return JSON.parse(line) as Record<string, unknown>;
  }
  throw new Error('no state');
}

function untilState(
  server: TestServer,
  wanted: { ready: boolean; reason?: string },
  ms = 60_000,
): Promise<void> {
  return eventually(
    `the state is ${JSON.stringify(wanted)}`,
    async () => {
      const state = await stateOf(server);
      return state['ready'] === wanted.ready && state['reason'] === (wanted.reason ?? 'Ready');
    },
    ms,
  );
}

const bearerOf = (headers: GuardedServer['seen'][number]) => headers.authorization?.replace(/^Bearer /, '');
const unauthorized: Refusal = {
  status: 401,
  headers: {
    'www-authenticate':
      'Bearer resource_metadata="https://mcp.test/.well-known/oauth-protected-resource/mcp"',
  },
};

/** Only who has a token of the authorization server passes. */
function askForTokens(guarded: GuardedServer, authorization: AuthorizationServer): void {
  guarded.judge = async ({ headers }) => {
    const token = bearerOf(headers);
    return token !== undefined && (await authorization.knows(token)) ? undefined : unauthorized;
  };
}

const basicClient = {
  client_id: 'agent',
  client_secret: secret,
  token_endpoint_auth_method: 'client_secret_basic',
};
const oauth = { mode: 'clientCredentials', clientId: 'agent' };

add('the tools of a remote server are the agent’s, and only its own headers go there', async (t) => {
  const { guarded, start, hosts, logged } = await place(t);
  guarded.judge = ({ headers }) => (headers['x-key'] === 'canary-key' ? undefined : { status: 401 });
  const upstream = {
    headers: { 'X-Key': 'canary-key', Accept: 'nothing', Host: 'else.test', 'Mcp-Session-Id': 'x', Te: 'y' },
    ca: hosts.ca,
  };
  const { server, call } = await start({ upstream });
  await untilState(server, { ready: true });
  assert.equal(await call('one'), 'Echo: one');
  assert.ok(((await stateOf(server))['toolCount'] as number) > 5);
  assert.deepEqual([...new Set(guarded.seen.map(({ host }) => host))], ['mcp.test']);
  assert.ok(
    guarded.seen.every(({ accept, authorization }) => accept !== 'nothing' && authorization === undefined),
  );
  assert.doesNotMatch(logged(), /canary/);
});

add('headers are rotated while calls run, and none fails', async (t) => {
  const { guarded, start, hosts } = await place(t);
  const good = new Set(['key-1']);
  guarded.judge = ({ headers }) => (good.has(String(headers['x-key'])) ? undefined : { status: 401 });
  const { server, call, config } = await start({ upstream: { headers: { 'x-key': 'key-1' }, ca: hosts.ca } });
  await untilState(server, { ready: true });
  for (let round = 1; round < 4; round++) {
    good.add(`key-${round + 1}`);
    const calls = Array.from({ length: 10 }, (_, index) => call(`${round}.${index}`));
    server.server.reconfigure({
      ...config,
      upstream: { headers: { 'x-key': `key-${round + 1}` }, ca: hosts.ca },
    });
    const more = Array.from({ length: 10 }, (_, index) => call(`${round}.${index}`));
    for (const text of await Promise.all([...calls, ...more])) assert.match(text, /^Echo: /);
    good.delete(`key-${round}`);
    assert.equal(await call('after'), 'Echo: after');
  }
  assert.equal(guarded.refused, 0);
});

add(
  'a token is found by the server’s own metadata, used for many calls, and had anew when it is refused',
  async (t) => {
    const { guarded, start, hosts, logged } = await place(t, ['https://auth.test']);
    const authorization = await startAuthorizationServer(hosts, 'auth.test', { clients: [basicClient] });
    askForTokens(guarded, authorization);
    const upstream = { headers: {}, clientSecret: secret, ca: hosts.ca };
    const { server, call } = await start({ mcp: { upstream: { url, oauth } }, upstream });
    await untilState(server, { ready: true });
    const texts = await Promise.all(Array.from({ length: 50 }, (_, index) => call(`${index}`)));
    assert.ok(
      texts.every((text) => text.startsWith('Echo: ')),
      texts.join(),
    );
    assert.deepEqual(authorization.asked, ['basic']);
    assert.equal(guarded.refused, 1);
    authorization.revokeAll();
    const again = await Promise.all(Array.from({ length: 20 }, (_, index) => call(`${index}`)));
    assert.ok(
      again.every((text) => text.startsWith('Echo: ')),
      again.join(),
    );
    assert.equal(authorization.asked.length, 2);
    assert.doesNotMatch(logged(), /canary/);
    for (const token of new Set(guarded.seen.map(bearerOf)))
      if (token !== undefined) assert.ok(!logged().includes(token));
  },
);

add('a token is renewed before it ends: no call is refused in between', async (t) => {
  const { guarded, start, hosts } = await place(t, ['https://auth.test']);
  const authorization = await startAuthorizationServer(hosts, 'auth.test', {
    clients: [basicClient],
    tokenSeconds: 8,
  });
  askForTokens(guarded, authorization);
  const upstream = { headers: {}, clientSecret: secret, ca: hosts.ca };
  const { server, call } = await start({ mcp: { upstream: { url, oauth } }, upstream });
  await untilState(server, { ready: true });
  await eventually(
    'three tokens were had',
    async () => {
      assert.equal(await call('x'), 'Echo: x');
      return authorization.asked.length >= 3;
    },
    60_000,
  );
  assert.equal(guarded.refused, 1);
});

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ways: Record<string, { client: object; upstream: object; asked: string }> = {
  client_secret_post: {
    client: { client_secret: secret, token_endpoint_auth_method: 'client_secret_post' },
    upstream: { clientSecret: secret },
    asked: 'post',
  },
  private_key_jwt: {
    client: {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'ES256' }] },
    },
    upstream: { privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }) },
    asked: 'private_key_jwt',
  },
};

for (const [method, { client, upstream, asked }] of Object.entries(ways)) {
  add(`a client logs in by ${method} at an authorization server that the spec names`, async (t) => {
    const { guarded, start, hosts } = await place(t);
    const authorization = await startAuthorizationServer(hosts, 'auth.test', {
      clients: [{ client_id: 'agent', ...client } as typeof basicClient],
      methods: [method],
    });
    askForTokens(guarded, authorization);
    const mcp = {
      upstream: { url, oauth: { ...oauth, issuer: 'https://auth.test', scopes: ['mcp:tools'] } },
    };
    const { server, call } = await start({ mcp, upstream: { headers: {}, ca: hosts.ca, ...upstream } });
    await untilState(server, { ready: true });
    assert.equal(await call('x'), 'Echo: x');
    assert.deepEqual(authorization.asked, [asked]);
  });
}

add('a wrong secret is told, and the right one is taken up without a restart', async (t) => {
  const { guarded, start, hosts, logged } = await place(t, ['https://auth.test']);
  const authorization = await startAuthorizationServer(hosts, 'auth.test', { clients: [basicClient] });
  askForTokens(guarded, authorization);
  const upstream = { headers: {}, clientSecret: 'canary-wrong', ca: hosts.ca };
  const { server, config, call } = await start({ mcp: { upstream: { url, oauth } }, upstream });
  await untilState(server, { ready: false, reason: 'UpstreamUnauthorized' });
  const { message } = await stateOf(server);
  assert.match(
    String(message),
    /https:\/\/auth\.test refuses the client \(invalid_client.*Secret of mcp\.upstream\.oauth/,
  );
  server.server.reconfigure({ ...config, upstream: { ...upstream, clientSecret: secret } });
  await untilState(server, { ready: true });
  assert.equal(await call('x'), 'Echo: x');
  assert.doesNotMatch(`${message} ${logged()}`, /canary/);
});

add(
  'a server that is down, faulty or refuses is told as what it is, and served again when it is back',
  async (t) => {
    const { guarded, start } = await place(t);
    const { server, call } = await start({ limits: { upstreamProbeMs: 300 } });
    await untilState(server, { ready: true });
    guarded.judge = () => ({ status: 503 });
    await untilState(server, { ready: false, reason: 'UpstreamNotReady' });
    assert.match(String((await stateOf(server))['message']), /HTTP 503/);
    guarded.judge = () => undefined;
    await untilState(server, { ready: true });
    assert.equal(await call('back'), 'Echo: back');
    guarded.judge = () => ({ status: 401 });
    await untilState(server, { ready: false, reason: 'UpstreamUnauthorized' });
    assert.match(await call('refused'), /mcp\.test refuses the agent \(HTTP 401\)/);
    guarded.judge = () => undefined;
    await untilState(server, { ready: true });
    guarded.close();
    await untilState(server, { ready: false, reason: 'UpstreamNotReady' });
    assert.match(await call('gone'), /mcp\.test/);
  },
);

add('a slow server costs a call its time and no more', async (t) => {
  const { guarded, start } = await place(t);
  const { server, call } = await start({ limits: { upstreamTimeoutMs: 5000 } });
  await untilState(server, { ready: true });
  assert.equal(await call('x'), 'Echo: x');
  guarded.judge = ({ method }) => (method === 'POST' ? 'silence' : undefined);
  assert.match(await call('slow'), /did not answer within 5000 ms/);
  guarded.judge = () => undefined;
  assert.equal(await call('quick'), 'Echo: quick');
});

add('the controller hands over new secrets to an agent-server that runs, and nobody else does', async (t) => {
  const { guarded, start, hosts } = await place(t);
  guarded.judge = ({ headers }) => (headers['x-key'] === 'right' ? undefined : { status: 401 });
  const { server, config } = await start(
    { upstream: { headers: { 'x-key': 'wrong' }, ca: hosts.ca } },
    rules,
    {
      withoutTokens: false,
    },
  );
  const secrets = { headers: { 'x-key': 'right' }, ca: hosts.ca };
  const untilReady = (status: number) =>
    eventually('ready', async () => (await server.send('GET', '/ready')).status === status, 60_000);
  const post = (headers: Record<string, string>) =>
    server.send('POST', handOverPath, headers, JSON.stringify(secrets));
  assert.equal((await post({})).status, 401);
  assert.equal((await post({ authorization: `Bearer ${tokenFor(bindHandOver(secrets))}` })).status, 403);
  await untilReady(503);
  assert.ok(guarded.seen.every((headers) => headers['x-key'] === 'wrong'));
  const [key] = config.keys;
  await handOver({
    address: server.server.address,
    keys: [{ kid: key?.kid ?? '', secret: Buffer.from(key?.secret ?? '', 'base64url') }],
    agent: config.agent,
    instance: config.agent.instance,
    random: systemRandom,
    now: Date.now,
    secrets,
  });
  await untilReady(200);
});

add('a server that has no stream, and says so in whatever way, is no less there', async (t) => {
  const { guarded, start } = await place(t);
  const answers: Refusal[] = [
    { status: 403 },
    { status: 302, headers: { location: 'https://auth.test/docs' } },
    { status: 401 },
  ];
  let streams = 0;
  guarded.judge = ({ method }) => (method === 'GET' ? answers[streams++ % answers.length] : undefined);
  const { server, call } = await start({ limits: { upstreamProbeMs: 500 } });
  await untilState(server, { ready: true });
  const probed = guarded.seen.length;
  await eventually('it was looked at a few times', () => guarded.seen.length > probed + 6, 60_000);
  assert.equal(streams, 1);
  assert.equal(await call('x'), 'Echo: x');
});

const untrusted: Record<
  string,
  {
    issuers: string[];
    resource?: string;
    allowed?: EgressRule[];
    fault?: number;
    reason: string;
    message: RegExp;
  }
> = {
  'metadata of another server': {
    issuers: ['https://auth.test'],
    resource: 'https://auth.test/mcp',
    reason: 'UpstreamUnauthorized',
    message: /the metadata of mcp\.test are of https:\/\/auth\.test\/mcp/,
  },
  'an authorization server that is not listed': {
    issuers: ['https://auth.test'],
    allowed: [{ host: 'mcp.test' }],
    reason: 'UpstreamNotAllowed',
    message: /may not reach auth\.test:443.*spec\.network\.egress/,
  },
  'an authorization server over plain http': {
    issuers: ['http://auth.test'],
    reason: 'UpstreamUnauthorized',
    message: /http:\/\/auth\.test/,
  },
  'no authorization server': {
    issuers: [],
    reason: 'UpstreamUnauthorized',
    message: /does not say which authorization server it trusts.*oauth\.issuer/,
  },
  'an authorization server that is out of order': {
    issuers: ['https://auth.test'],
    fault: 503,
    reason: 'UpstreamNotReady',
    message: /https:\/\/auth\.test answers HTTP 503/,
  },
};

for (const [what, { issuers, resource, allowed = rules, fault, reason, message }] of Object.entries(
  untrusted,
)) {
  add(`no token is asked for or used: ${what}`, async (t) => {
    const { guarded, start, hosts } = await place(t, issuers, resource);
    const authorization = await startAuthorizationServer(hosts, 'auth.test', { clients: [basicClient] });
    authorization.fault = fault;
    askForTokens(guarded, authorization);
    const upstream = { headers: {}, clientSecret: secret, ca: hosts.ca };
    const { server } = await start({ mcp: { upstream: { url, oauth } }, upstream }, allowed);
    await untilState(server, { ready: false, reason });
    assert.match(String((await stateOf(server))['message']), message);
    assert.deepEqual(authorization.asked, []);
    assert.ok(guarded.seen.every(({ authorization: sent }) => sent === undefined));
  });
}

add('a call that needs a further scope gets it once; one that gets it refused fails alone', async (t) => {
  const { guarded, start, hosts } = await place(t, ['https://auth.test']);
  const authorization = await startAuthorizationServer(hosts, 'auth.test', { clients: [basicClient] });
  askForTokens(guarded, authorization);
  const upstream = { headers: {}, clientSecret: secret, ca: hosts.ca };
  const { server, call } = await start({ mcp: { upstream: { url, oauth } }, upstream });
  await untilState(server, { ready: true });
  assert.equal(await call('before'), 'Echo: before');
  const { judge } = guarded;
  const first = new Set(guarded.seen.map(bearerOf));
  const further = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="mcp:tools"' };
  guarded.judge = (incoming) =>
    first.has(bearerOf(incoming.headers)) ? { status: 403, headers: further } : judge(incoming);
  assert.equal(await call('further'), 'Echo: further');
  assert.equal(authorization.asked.length, 2);
  guarded.judge = ({ method }) => (method === 'POST' ? { status: 403, headers: further } : undefined);
  assert.match(await call('refused'), /mcp\.test refuses the agent \(HTTP 403, insufficient_scope\)/);
  assert.equal(authorization.asked.length, 2);
});

const unreachable: Record<
  string,
  { upstream?: object; allowed?: EgressRule[]; reason: string; message: RegExp }
> = {
  'a host that is not listed': {
    allowed: [],
    reason: 'UpstreamNotAllowed',
    message: /may not reach mcp\.test:443.*spec\.network\.egress/,
  },
  'a name of a private address': {
    upstream: { url: 'https://inward.test/mcp' },
    allowed: [{ host: 'inward.test' }],
    reason: 'UpstreamNotAllowed',
    message: /10\.1\.2\.3.*private network/,
  },
  'a name that nobody knows': {
    upstream: { url: 'https://nobody.test/mcp' },
    allowed: [{ host: 'nobody.test' }],
    reason: 'UpstreamNotReady',
    message: /nobody\.test/,
  },
};

for (const [what, { upstream = { url }, allowed = rules, reason, message }] of Object.entries(unreachable)) {
  add(`${what} is told with what to do`, async (t) => {
    const { start } = await place(t);
    const { server } = await start({ mcp: { upstream } }, allowed);
    await untilState(server, { ready: false, reason });
    assert.match(String((await stateOf(server))['message']), message);
  });
}

add('a certificate of an unknown authority is refused, and nothing was sent', async (t) => {
  const { start, guarded } = await place(t);
  const { server } = await start({ upstream: { headers: { 'x-key': 'canary' } } });
  await untilState(server, { ready: false, reason: 'UpstreamNotReady' });
  assert.match(
    String((await stateOf(server))['message']),
    /mcp\.test:443 cannot be reached.*mcp\.upstream\.ca/,
  );
  assert.deepEqual(guarded.seen, []);
});

add('a redirect is told and not followed', async (t) => {
  const { start, guarded } = await place(t);
  guarded.judge = () => ({ status: 308, headers: { location: 'https://auth.test/mcp' } });
  const { server } = await start();
  await untilState(server, { ready: false, reason: 'UpstreamNotReady' });
  assert.match(
    String((await stateOf(server))['message']),
    /redirects to https:\/\/auth\.test\/mcp \(HTTP 308\)/,
  );
});

// Most of them wait most of the time.
describe('an agent whose server is elsewhere', { concurrency: 4 }, () => {
  for (const [name, run] of cases) it(name, options, run);
});
