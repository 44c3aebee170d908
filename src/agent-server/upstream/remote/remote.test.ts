import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { systemClock } from '#kit/clock.ts';
import { codeOf } from '#kit/errors.ts';
import { silentLog } from '#kit/log.ts';
import { createFakeClock, until } from '#test/fixtures/fake-clock.ts';
import type { UpstreamConnection } from '../connection.ts';
import { type RemoteOptions, remoteConnector } from './remote.ts';
import { listen } from './testing.ts';

const bounded = { timeout: 20_000 };

interface Place {
  /** Tokens that were had, newest last. */
  readonly tokens: string[];
  readonly connection: UpstreamConnection;
  /** What a call of this tool comes to: its text, or the code of its error. */
  call(tool: string): Promise<unknown>;
  /** Why the connection can serve no more, as far as it cannot. */
  lost(): string | undefined;
}

/** A server of the sessions era that wants a token, is its own authorization server, and always refuses calls of `forbidden`. */
async function start(t: TestContext, options: Partial<RemoteOptions> = {}): Promise<Place> {
  const tokens: string[] = [];
  const server = createServer((request, response) => void answer(request, response, tokens));
  const url = new URL(`http://127.0.0.1:${await listen(t, server)}/mcp`);
  const secrets = { headers: {}, clientSecret: 'secret' };
  const open = remoteConnector({
    ...{ url, oauth: { clientId: 'agent' }, secrets: () => secrets, proxyPort: undefined },
    ...{ machineAuthorities: undefined, probeMs: 60_000, log: silentLog, clock: systemClock },
    ...{ startMs: 5_000, maxMessageBytes: 1_000_000, maxSessions: 4, sessionIdleMs: 60_000 },
    ...options,
  });
  const { signal } = new AbortController();
  const connection = await open({ onNotification: () => undefined }, signal);
  t.after(() => connection.close());
  let lost: string | undefined;
  void connection.closed.then((reason) => {
    lost = reason;
  });
  return {
    tokens,
    connection,
    lost: () => lost,
    call: (name) =>
      connection
        .request('tools/call', { name }, { signal, timeoutMs: 5_000, context: undefined })
        .then((result) => result['text'], codeOf),
  };
}

async function answer(request: IncomingMessage, response: ServerResponse, tokens: string[]): Promise<void> {
  const body = await text(request);
  const issuer = `http://${request.headers.host}`;
  switch (request.url) {
    case '/.well-known/oauth-protected-resource/mcp':
      return sendJson(response, { resource: `${issuer}/mcp`, authorization_servers: [issuer] });
    case '/.well-known/oauth-authorization-server':
      return sendJson(response, { issuer, token_endpoint: `${issuer}/token` });
    case '/token': {
      const token = `token-${tokens.length}`;
      tokens.push(token);
      return sendJson(response, { access_token: token, token_type: 'Bearer' });
    }
    default:
      if (request.method === 'POST') return answerMcp(request, response, JSON.parse(body), tokens);
      response.writeHead(405).end();
  }
}

async function answerMcp(
  { headers }: IncomingMessage,
  response: ServerResponse,
  { id, method, params }: { id?: number; method: string; params?: { name?: string } },
  tokens: readonly string[],
): Promise<void> {
  const isKnown = tokens.some((token) => headers.authorization === `Bearer ${token}`);
  if (!isKnown || params?.name === 'forbidden') {
    response.writeHead(401, { 'www-authenticate': 'Bearer error="invalid_token"' }).end();
    return;
  }
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  if (params?.name === 'slow') await systemClock.sleep(300);
  const result = results[method];
  const said = result === undefined ? { error: { code: -32601, message: 'unknown' } } : { result };
  sendJson(response, { jsonrpc: '2.0', id, ...said });
}

function sendJson(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

const results: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'server', version: '1' },
  },
  ping: {},
  'tools/call': { text: 'done' },
};

test('a call that is refused whatever its token fails alone', bounded, async (t) => {
  const clock = createFakeClock();
  const { call, lost, tokens } = await start(t, { clock });
  assert.equal(await call('any'), 'done');
  assert.equal(await call('forbidden'), 'UpstreamUnauthorized');
  await systemClock.sleep(200);
  assert.equal(lost(), undefined, 'it was looked at with the token that others are served with');
  assert.equal(await call('any'), 'done');
  const had = tokens.length;
  assert.equal(await call('forbidden'), 'UpstreamUnauthorized');
  assert.equal(tokens.length, had, 'nobody asks for another in the pause');
  assert.equal(await call('any'), 'done');
  await clock.advance(1_000);
  assert.equal(await call('forbidden'), 'UpstreamUnauthorized');
  assert.equal(tokens.length, had + 1);
  assert.equal(lost(), undefined);
});

test('a server that refuses every token is lost', bounded, async (t) => {
  const { call, lost, tokens } = await start(t);
  tokens.push = () => 0;
  tokens.length = 0;
  assert.equal(await call('any'), 'UpstreamUnauthorized');
  await until(() => lost() !== undefined, 'the connection to be lost');
  assert.match(lost() ?? '', /refuses the agent \(HTTP 401, invalid_token\)/);
});

test('where there is no room for one more connection, those that there are go on', bounded, async (t) => {
  let isFull = false;
  const proxy = createServer().on('connect', (request, socket) => {
    if (isFull) {
      socket.end('HTTP/1.1 429 No\r\n\r\nno room');
      return;
    }
    const onward = connect(Number(request.url?.split(':')[1]), '127.0.0.1');
    for (const end of [socket, onward])
      end.on('error', () => undefined).on('close', () => [socket, onward].map((one) => one.destroy()));
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    socket.pipe(onward).pipe(socket);
  });
  const { call, lost } = await start(t, { proxyPort: await listen(t, proxy), probeMs: 50 });
  isFull = true;
  const answers = await Promise.all(Array.from({ length: 10 }, () => call('slow')));
  assert.deepEqual(new Set(answers), new Set(['done', 'UpstreamBusy']));
  assert.equal(lost(), undefined);
  assert.equal(await call('any'), 'done');
});
