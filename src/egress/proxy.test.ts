import assert from 'node:assert/strict';
import { createServer as createHttpServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import type { Log } from '#kit/log.ts';
import type { CallerCredential } from './callers.ts';
import { dial } from './dial.ts';
import { EgressRefusal } from './errors.ts';
import { type EgressLimits, type EgressProxy, startEgressProxy } from './proxy.ts';

const token = 'token-of-the-running-agent';
const agent: CallerCredential = {
  namespace: 'default',
  name: 'fetcher',
  purpose: 'run',
  rules: [
    { host: 'allowed.test' },
    { host: 'slow.test' },
    { host: 'inward.test' },
    { host: 'mixed.test' },
    { host: 'gone.test' },
    { host: 'plain.test', ports: [80] },
    { cidr: '10.9.0.0/16' },
    { cidr: '203.0.113.0/24' },
  ],
  token,
};
const install: CallerCredential = {
  ...agent,
  purpose: 'install',
  rules: [{ host: 'registry.test' }],
  token: 'token-of-the-install',
};

const names: Record<string, string[]> = {
  'allowed.test': ['203.0.113.1'],
  'plain.test': ['203.0.113.1'],
  'registry.test': ['203.0.113.1'],
  'slow.test': ['203.0.113.99'],
  'inward.test': ['127.0.0.1'],
  'mixed.test': ['10.0.0.1', '203.0.113.1'],
};

describe('the egress proxy', { timeout: 30_000 }, () => {
  let echo: ReturnType<typeof createServer>;
  let web: Server;
  let proxy: EgressProxy;
  let dialled: string[] = [];
  let onDialled: (socket: Socket) => Promise<void> | undefined = () => undefined;
  const lines: [string, unknown][] = [];
  const log: Log = {
    debug: () => undefined,
    info: (message, fields) => lines.push([message, fields]),
    warn: (message, fields) => lines.push([message, fields]),
    error: (message, fields) => lines.push([message, fields]),
    with: () => log,
  };

  before(async () => {
    echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket));
    web = createHttpServer((request, response) => {
      response.setHeader('proxy-authenticate', 'should not pass');
      response.end(JSON.stringify({ url: request.url, headers: request.headers }));
    });
    await Promise.all([listen(echo), listen(web)]);
  });
  after(() => {
    echo.close();
    web.close();
  });
  const start = async (limits: Partial<EgressLimits> = {}) => {
    proxy = await startEgressProxy({
      listen: { host: '127.0.0.1', port: 0 },
      lookup: (namespace, name) => (namespace === 'default' && name === 'fetcher' ? [agent, install] : []),
      resolve: async (name) => {
        const addresses = names[name] ?? (/^[\d.:a-f]+$/.test(name) ? [name] : undefined);
        if (addresses === undefined) throw new Error('ENOTFOUND');
        return addresses;
      },
      log,
      // The addresses that were checked, led to servers of this test.
      dial: async (addresses, port, timeoutMs) => {
        dialled.push(...addresses);
        if (addresses[0] === '203.0.113.99') throw new EgressRefusal('Timeout', 'too slow');
        const server = port === 80 ? web : echo;
        const opened = await dial(['127.0.0.1'], (server.address() as AddressInfo).port, timeoutMs);
        await onDialled(opened.socket);
        return { ...opened, address: addresses[0] ?? '' };
      },
      limits: { idleMs: 2_000, headMs: 500, ...limits },
    });
  };
  beforeEach(() => {
    dialled = [];
    onDialled = () => undefined;
    lines.length = 0;
    return start();
  });
  afterEach(() => proxy.close());

  const open = (target: string, credential: string | undefined = `default/fetcher:${token}`) =>
    connectThrough(proxy.address, target, credential);

  it('connects a caller to a host that one of its rules names', async () => {
    const { status, socket } = await open('allowed.test:443');
    assert.equal(status, 200);
    socket.write('ping');
    assert.equal(await nextChunk(socket), 'ping');
    socket.destroy();
    assert.deepEqual(dialled, ['203.0.113.1']);
    assert.ok(lines.some(([message]) => message === 'egress allowed'));
  });

  it('refuses a host that no rule names, says which rule to add and resolves nothing', async () => {
    const { status, body, head } = await open('other.test:443');
    assert.equal(status, 403);
    assert.match(head, /^HTTP\/1\.1 403 Not allowed: add other\.test port 443 to spec\.network\.egress$/m);
    assert.match(body, /spec\.network\.egress/);
    assert.match(body, /host: other\.test, ports: \[443\]/);
    assert.deepEqual(dialled, []);
    assert.ok(lines.some(([message]) => message === 'egress refused'));
  });

  it('refuses another port of an allowed host', async () => {
    assert.equal((await open('allowed.test:22')).status, 403);
  });

  it('refuses a name that leads to this machine', async () => {
    const { status, body } = await open('inward.test:443');
    assert.equal(status, 403);
    assert.match(body, /127\.0\.0\.1/);
    assert.deepEqual(dialled, []);
  });

  it('uses only the public addresses of a name that has both kinds', async () => {
    const { status, socket } = await open('mixed.test:443');
    assert.equal(status, 200);
    socket.destroy();
    assert.deepEqual(dialled, ['203.0.113.1']);
  });

  it('reaches a private address only by a rule with its numbers', async () => {
    const listed = await open('10.9.0.1:443');
    assert.equal(listed.status, 200);
    listed.socket.destroy();
    assert.equal((await open('10.8.0.1:443')).status, 403);
    assert.equal((await open('127.0.0.1:443')).status, 403);
    assert.equal((await open('[::ffff:127.0.0.1]:443')).status, 403);
  });

  it('asks for a credential, and takes neither a wrong one nor another purpose', async () => {
    for (const credential of [
      undefined,
      'default/fetcher:wrong',
      'default/nobody:x',
      `other/fetcher:${token}`,
      'x',
    ]) {
      const { status } = await connectThrough(proxy.address, 'allowed.test:443', credential);
      assert.equal(status, 407, String(credential));
    }
    const credential = `default/fetcher:${install.token}`;
    const refused = await open('allowed.test:443', credential);
    assert.equal(refused.status, 403);
    assert.match(refused.body, /spec\.network\.installEgress/);
    const allowed = await open('registry.test:443', credential);
    assert.equal(allowed.status, 200);
    allowed.socket.destroy();
  });

  it('never logs a credential', async () => {
    await open('other.test:443');
    await open('other.test:443', 'default/fetcher:wrong-secret');
    assert.doesNotMatch(JSON.stringify(lines), /token-of-the|wrong-secret/);
  });

  it('answers 502 for a name that does not exist and 504 for a host that does not answer', async () => {
    assert.equal((await open('gone.test:443')).status, 502);
    assert.equal((await open('slow.test:443')).status, 504);
  });

  it('answers 400 for what is not a proxy request', async () => {
    assert.equal((await rawRequest(proxy.address, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n')).status, 400);
    assert.equal((await open('127.1:443')).status, 400);
  });

  it('limits open connections of one workload and frees them', async () => {
    await proxy.close();
    await start({ perWorkload: 2 });
    const first = await open('allowed.test:443');
    const second = await open('allowed.test:443');
    assert.equal((await open('allowed.test:443')).status, 429);
    first.socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const third = await open('allowed.test:443');
    assert.equal(third.status, 200);
    for (const { socket } of [second, third]) socket.destroy();
  });

  it('drains: takes nothing new, lets open tunnels go on, and waits no longer than it was told', async () => {
    const { socket } = await open('allowed.test:443');
    const { address } = proxy;
    const begun = performance.now();
    const drained = proxy.drain(300);
    await assert.rejects(connectThrough(address, 'allowed.test:443', `default/fetcher:${token}`));
    socket.write('still');
    assert.equal(await nextChunk(socket), 'still');
    await drained;
    assert.ok(performance.now() - begun >= 290);
    await start();
    const again = await open('allowed.test:443');
    const ended = proxy.drain(10_000);
    again.socket.destroy();
    await ended;
    assert.ok(performance.now() - begun < 8_000, 'the last tunnel ended');
    socket.destroy();
  });

  it('closes a tunnel on which nothing moves', async () => {
    await proxy.close();
    await start({ idleMs: 200 });
    const { socket } = await open('allowed.test:443');
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
  });

  it('closes a client that does not finish its request head', async () => {
    const socket = dialProxy(proxy.address);
    socket.resume();
    socket.write('CONNECT allowed.test:443 HTTP/1.1\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
  });

  it('forwards plain http without the credential and hop-by-hop fields', async () => {
    const head = [
      'GET http://plain.test/a?b=c HTTP/1.1',
      'host: somewhere-else.test',
      `proxy-authorization: Basic ${Buffer.from(`default/fetcher:${token}`).toString('base64')}`,
      'connection: close, x-drop',
      'x-drop: 1',
      'x-keep: 2',
    ];
    const { status, body, head: answer } = await rawRequest(proxy.address, `${head.join('\r\n')}\r\n\r\n`);
    assert.equal(status, 200);
    const seen = JSON.parse(/\{.*\}/s.exec(body)?.[0] ?? '') as {
      url: string;
      headers: Record<string, string>;
    };
    assert.equal(seen.url, '/a?b=c');
    assert.equal(seen.headers['host'], 'plain.test');
    assert.equal(seen.headers['x-keep'], '2');
    assert.equal(seen.headers['x-drop'], undefined);
    assert.equal(seen.headers['proxy-authorization'], undefined);
    assert.doesNotMatch(answer, /should not pass/);
    assert.doesNotMatch(JSON.stringify(lines), /b=c/, 'a query is nobody’s business in a log');
  });

  it('ends a connection after one forwarded request: another would come without a credential', async () => {
    const credential = Buffer.from(`default/fetcher:${token}`).toString('base64');
    const head = `GET http://plain.test/ HTTP/1.1\r\nhost: plain.test\r\nproxy-authorization: Basic ${credential}`;
    const { status, head: answer } = await rawRequest(
      proxy.address,
      `${head}\r\nconnection: keep-alive\r\n\r\n`,
    );
    assert.equal(status, 200);
    assert.match(answer, /^connection: close$/im);
  });

  it('keeps no connection for a request whose client left while it was made', async () => {
    const credential = Buffer.from(`default/fetcher:${token}`).toString('base64');
    const client = dialProxy(proxy.address);
    const opened = new Promise<Socket>((resolve) => {
      onDialled = async (socket) => {
        client.destroy();
        // Until the proxy has seen it go.
        await new Promise((seen) => setTimeout(seen, 100));
        resolve(socket);
      };
    });
    client.write(
      `GET http://plain.test/ HTTP/1.1\r\nhost: plain.test\r\nproxy-authorization: Basic ${credential}\r\n\r\n`,
    );
    const socket = await opened;
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(socket.destroyed, true);
  });
});

function listen(server: { listen(port: number, host: string, done: () => void): unknown }): Promise<void> {
  return new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
}

function dialProxy(address: string): Socket {
  const socket = connect(Number(address.split(':').at(-1)), '127.0.0.1');
  socket.on('error', () => undefined);
  return socket;
}

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
  readonly socket: Socket;
}

function connectThrough(address: string, target: string, credential: string | undefined): Promise<Answer> {
  const authorization =
    credential === undefined
      ? ''
      : `proxy-authorization: Basic ${Buffer.from(credential).toString('base64')}\r\n`;
  return rawRequest(address, `CONNECT ${target} HTTP/1.1\r\nhost: ${target}\r\n${authorization}\r\n`);
}

/** Sends bytes; resolves after the head for a tunnel, after the end for anything else. */
function rawRequest(address: string, text: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = dialProxy(address);
    let received = '';
    const finish = () => {
      const [head = '', ...rest] = received.split('\r\n\r\n');
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1]);
      resolve({ status, head, body: rest.join('\r\n\r\n'), socket });
    };
    const onData = (chunk: Buffer) => {
      received += chunk.toString('utf8');
      if (/^HTTP\/1\.1 200 Connection established\r\n\r\n/.test(received)) {
        socket.off('data', onData);
        finish();
      }
    };
    socket.on('data', onData);
    socket.once('end', () => {
      finish();
      socket.destroy();
    });
    socket.once('error', reject);
    socket.write(text);
  });
}

function nextChunk(socket: Socket): Promise<string> {
  return new Promise((resolve) => socket.once('data', (chunk) => resolve(String(chunk))));
}
