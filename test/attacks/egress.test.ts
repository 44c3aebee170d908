import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { after, before, describe, it } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { addresses, hostile, privateAddresses } from './egress/addresses.ts';
import type { Counts } from './egress/network.ts';

const unshare = process.getuid?.() === 0 ? ['-n'] : ['-r', '-n'];
const canUnshare = spawnSync('unshare', [...unshare, 'ip', 'link', 'set', 'lo', 'up']).status === 0;
const skip = !canUnshare && 'needs unshare(1) and ip(8) for a network namespace of its own';

const [a = 0, b = 0, c = 0, d = 0] = addresses.trap.split('.').map(Number);
const decimal = ((a * 256 + b) * 256 + c) * 256 + d;
const octal = (byte: number) => `0${byte.toString(8)}`;
const hexadecimal = (byte: number) => `0x${byte.toString(16)}`;

/** Other ways to write the trap's address. */
const spellings: Readonly<Record<string, string>> = {
  plain: addresses.trap,
  decimal: String(decimal),
  octal: [a, b, c, d].map(octal).join('.'),
  hexadecimal: [a, b, c, d].map(hexadecimal).join('.'),
  'one hexadecimal number': `0x${decimal.toString(16)}`,
  'three parts': `${a}.${b}.${c * 256 + d}`,
  'mapped into IPv6': `[::ffff:${addresses.trap}]`,
  'mapped into IPv6, in hexadecimal': `[::ffff:${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}]`,
};

const connectTo = (target: string, more = '') => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${more}`;
const get = (target: string, host: string) => `GET ${target} HTTP/1.1\r\nHost: ${host}\r\n`;

/** Requests by which something else than the allowed host would be reached. */
const requests: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(spellings).map(([name, text]) => [
      `CONNECT to an address, ${name}`,
      connectTo(`${text}:443`),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(spellings).map(([name, text]) => [
      `GET from an address, ${name}`,
      get(`http://${text}/`, text),
    ]),
  ),
  ...Object.fromEntries(
    privateAddresses.map((address) => {
      const text = address.includes(':') ? `[${address}]` : address;
      return [`CONNECT to ${address}`, connectTo(`${text}:443`)];
    }),
  ),
  'GET from cloud metadata': get('http://169.254.169.254/latest/meta-data/', '169.254.169.254'),
  'CONNECT to a name that no rule has': connectTo('trap.test:443'),
  'GET from a name that no rule has': get('http://trap.test/', 'trap.test'),
  ...Object.fromEntries(
    [22, 53, 3128, 8443].map((port) => [
      `CONNECT to port ${port} of the allowed host`,
      connectTo(`allowed.test:${port}`),
    ]),
  ),
  'CONNECT to a resolver, for DNS over TCP': connectTo(`${addresses.trap}:53`),
  'CONNECT to another proxy': connectTo(`${addresses.trap}:3128`),
  'CONNECT with a user before the host': connectTo('allowed.test@trap.test:443'),
  'CONNECT with another Host': `CONNECT trap.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n`,
  'GET with a user before the host': get('http://allowed.test@trap.test/', 'allowed.test'),
  'GET without a scheme, by Host': get('/', 'trap.test'),
  'GET with two slashes, by Host': get('//trap.test/', 'allowed.test'),
  'GET in capitals': get('HTTP://TRAP.TEST/', 'allowed.test'),
  'GET with an empty authority': get('http:///trap.test/', 'allowed.test'),
  ...Object.fromEntries(
    Object.keys(hostile).map((name) => [
      `CONNECT to ${name}, which is ${hostile[name]?.join(', then ')}`,
      connectTo(`${name}:443`),
    ]),
  ),
};

describe('what leaves through the egress proxy', { skip, timeout: 60_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'plk-'));
  const sockets = { guarded: join(folder, 'guarded'), naive: join(folder, 'naive') };
  const credential = `Proxy-Authorization: Basic ${Buffer.from('default/demo:token').toString('base64')}\r\n`;
  let network: ChildProcess;
  let lines: Interface;
  before(async () => {
    network = startNetwork(sockets);
    lines = createInterface({ input: network.stdout as NodeJS.ReadableStream });
    assert.equal(await nextLine(), 'ready');
  });
  after(async () => {
    network.stdin?.end();
    await new Promise((resolve) => network.once('exit', resolve));
    rmSync(folder, { recursive: true, force: true });
  });

  const nextLine = () => new Promise<string>((resolve) => lines.once('line', resolve));
  const counts = async () => {
    const line = nextLine();
    network.stdin?.write('counts\n');
    return JSON.parse(await line) as Counts;
  };
  /** What an exchange adds to the counts. */
  const counting = async (exchange: () => Promise<unknown>) => {
    const earlier = await counts();
    await exchange();
    const now = await counts();
    return {
      trap: now.trap - earlier.trap,
      allowed: now.allowed - earlier.allowed,
      otherServer: now.otherServer - earlier.otherServer,
      otherHost: now.otherHost - earlier.otherHost,
      lookups: now.lookups.slice(earlier.lookups.length),
    };
  };
  const send = (socket: string, request: string, then = '') =>
    exchangeAt(socket, `${request}${credential}\r\n`, then);

  it('reaches the allowed host, by tunnel and by request', async () => {
    const hello = await counting(() => handshakeAt(sockets.guarded, 'allowed.test', credential));
    assert.deepEqual([hello.allowed, hello.otherServer], [1, 0]);
    const page = await send(sockets.guarded, get('http://allowed.test/', 'allowed.test'));
    assert.match(page, /page of the allowed host/);
  });

  for (const [name, request] of Object.entries(requests)) {
    it(`${name}: nothing arrives, and without rules it does`, async () => {
      const guarded = await counting(() => send(sockets.guarded, request, 'anything'));
      assert.equal(guarded.trap, 0);
      const control = await counting(() => send(sockets.naive, request, 'anything'));
      assert.ok(control.trap > 0, 'the control reached no trap');
    });
  }

  it('a tunnel to the allowed host with TLS for another server ends, and without the check it does not', async () => {
    const attempt = (socket: string) => () => handshakeAt(socket, 'trap.test', credential);
    assert.equal((await counting(attempt(sockets.guarded))).otherServer, 0);
    assert.equal((await counting(attempt(sockets.naive))).otherServer, 1);
  });

  it('a request to the allowed host keeps its Host, whatever the client wrote', async () => {
    const attempt = (socket: string) => () => send(socket, get('http://allowed.test/', 'trap.test'));
    assert.equal((await counting(attempt(sockets.guarded))).otherHost, 0);
    assert.equal((await counting(attempt(sockets.naive))).otherHost, 1);
  });

  it('a name that no rule has is not even looked up: names carry no data out', async () => {
    const carrying = (socket: string) => () => send(socket, connectTo('c2VjcmV0.tunnel.trap.test:443'));
    assert.deepEqual((await counting(carrying(sockets.guarded))).lookups, []);
    assert.ok((await counting(carrying(sockets.naive))).lookups.length > 0);
  });
});

function startNetwork({ guarded, naive }: { guarded: string; naive: string }): ChildProcess {
  const fixture = join(import.meta.dirname, 'egress/network.ts');
  const own = [
    ...Object.values(addresses),
    ...privateAddresses.filter((address) => !['127.0.0.1', '::1'].includes(address)),
  ];
  const add = own.map(
    (address) => `ip addr add ${address}/${address.includes(':') ? '128 nodad' : '32'} dev lo`,
  );
  const script = ['ip link set lo up', ...add, 'exec "$0" "$@"'].join(' && ');
  const command = ['/bin/sh', '-c', script, process.execPath, fixture, guarded, naive];
  return spawn('unshare', [...unshare, ...command], { stdio: ['pipe', 'pipe', 'inherit'] });
}

/** Sends a request and, once it is answered with 200, more; what came until the end, or for half a second. */
function exchangeAt(path: string, request: string, then: string): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(path, () => socket.write(request, 'latin1'));
    const timer = setTimeout(() => socket.destroy(), 500);
    socket.once('data', (chunk) => String(chunk).includes(' 200 ') && then !== '' && socket.write(then));
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket
      .on('error', () => undefined)
      .once('close', () => {
        clearTimeout(timer);
        resolve(text);
      });
  });
}

/** Opens a tunnel to the allowed host and begins TLS for `servername` in it. Resolves when it has ended. */
function handshakeAt(path: string, servername: string, credential: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(path, () => socket.write(`${connectTo('allowed.test:443')}${credential}\r\n`));
    socket.on('error', () => undefined);
    const timer = setTimeout(() => socket.destroy(), 500);
    socket.once('data', () => {
      connectTls({ socket, servername, rejectUnauthorized: false }).on('error', () => undefined);
    });
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
