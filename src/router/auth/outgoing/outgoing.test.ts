import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '#kit/clock.ts';
import type { TrapReport } from '#test/fixtures/outgoing-in-netns.ts';
import { createDiscovery } from './discover.ts';
import { createOutgoing, type Outgoing } from './fetch.ts';
import { allowedAddresses, checkUrl, type OutgoingRules } from './rules.ts';

const none: OutgoingRules = { loopback: false, hosts: [] };
const code = (name: string) => (error: { code?: string }) => error.code === name;

describe('Which providers the router asks', () => {
  const refused = (text: string, rules = none) =>
    assert.throws(() => checkUrl(text, rules), code('OutgoingRefused'), text);

  it('are those with https, and without a user in the URL', () => {
    assert.equal(checkUrl('https://id.example.org/a', none).host, 'id.example.org');
    for (const text of ['http://id.example.org', 'ftp://id.example.org', 'file:///etc/passwd', 'nothing'])
      refused(text);
    refused('https://user:word@id.example.org');
  });

  it('are on this machine in a workspace alone', () => {
    const workspace = { loopback: true, hosts: [] };
    for (const text of ['http://localhost:4000', 'http://127.0.0.1:4000', 'http://[::1]:4000']) {
      assert.doesNotThrow(() => checkUrl(text, workspace));
      refused(text);
    }
    const local = checkUrl('http://localhost:4000', workspace);
    assert.deepEqual(allowedAddresses(local, ['127.0.0.1', '10.0.0.1'], workspace), ['127.0.0.1']);
    const elsewhere = checkUrl('https://id.example.org', workspace);
    assert.throws(() => allowedAddresses(elsewhere, ['127.0.0.1'], workspace), code('OutgoingRefused'));
  });

  it('have private addresses where the operator named them, and metadata addresses never', () => {
    const rules = { loopback: false, hosts: ['id.internal', 'http://plain.internal:8080'] };
    const named = checkUrl('https://id.internal', rules);
    assert.deepEqual(allowedAddresses(named, ['10.0.0.5', '169.254.169.254'], rules), ['10.0.0.5']);
    assert.deepEqual(allowedAddresses(checkUrl('http://plain.internal:8080/x', rules), ['10.0.0.5'], rules), [
      '10.0.0.5',
    ]);
    refused('http://id.internal', rules);
    refused('http://plain.internal', rules);
    const other = checkUrl('https://other.internal', rules);
    assert.throws(() => allowedAddresses(other, ['10.0.0.5'], rules), code('OutgoingRefused'));
  });
});

async function serve(
  t: TestContext,
  answer: (url: string) => { status?: number; body?: string; headers?: Record<string, string> } | undefined,
): Promise<string> {
  const server = createServer((request, response) => {
    const { status = 200, body = '', headers = {} } = answer(request.url ?? '') ?? { status: 0 };
    if (status !== 0) response.writeHead(status, headers).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function localOutgoing(timeoutMs = 300): Outgoing {
  const rules = { loopback: true, hosts: [] };
  return createOutgoing({ rules, clock: systemClock, resolve: async () => ['127.0.0.1'], timeoutMs });
}

describe('Requests to providers', () => {
  it('end in time and at a size, and follow nobody', async (t) => {
    const url = await serve(t, (path) => {
      if (path === '/moved') return { status: 302, headers: { location: '/large' } };
      if (path === '/large') return { body: 'x'.repeat(600_000) };
      if (path === '/packed') return { headers: { 'content-encoding': 'gzip' }, body: 'x' };
      return undefined;
    });
    const { fetch } = localOutgoing();
    assert.equal((await fetch(`${url}/moved`)).status, 302);
    await assert.rejects(fetch(`${url}/large`), code('OutgoingAnswer'));
    await assert.rejects(fetch(`${url}/packed`), code('OutgoingAnswer'));
    await assert.rejects(fetch(`${url}/silent`), code('OutgoingUnreachable'));
  });

  it('find a provider’s document, believe it for that issuer alone, and do not ask again at once', async (t) => {
    let asked = 0;
    const url = await serve(t, (path) => {
      asked += 1;
      if (path === '/.well-known/oauth-authorization-server/tenant')
        return { body: JSON.stringify({ issuer: `${url}/tenant` }) };
      if (path === '/.well-known/openid-configuration')
        return { body: JSON.stringify({ issuer: 'https://other.example.org' }) };
      return { status: 404 };
    });
    const discovery = createDiscovery(localOutgoing(), systemClock);
    assert.equal((await discovery.of(`${url}/tenant`)).issuer, `${url}/tenant`);
    await discovery.of(`${url}/tenant`);
    assert.equal(asked, 2);
    await assert.rejects(discovery.of(url), code('OutgoingAnswer'));
    await assert.rejects(discovery.of(url), code('OutgoingAnswer'));
    assert.equal(asked, 3);
  });
});

const unshare = process.getuid?.() === 0 ? ['-n'] : ['-r', '-n'];
const canUnshare = spawnSync('unshare', [...unshare, 'ip', 'link', 'set', 'lo', 'up']).status === 0;

describe('Issuer URLs that lead inward', {
  skip: canUnshare ? false : 'needs unshare(1) and ip(8) for a network namespace of its own',
}, () => {
  it('reach nothing: not private, metadata, mapped, decimal, octal or rebound addresses, nor by a redirect', () => {
    const fixture = fileURLToPath(new URL('../../../../test/fixtures/outgoing-in-netns.ts', import.meta.url));
    const plain = ['203.0.113.10', '10.0.0.5', '172.16.3.4', '192.168.1.1', '169.254.169.254'];
    const rest = ['100.100.100.200', '100.64.0.1', '198.18.0.1'];
    const all = [...[...plain, ...rest].map((ip) => `${ip}/32 dev lo`)];
    for (const ip of ['fd00:ec2::254', 'fd12::1', 'fec0::1']) all.push(`${ip}/128 dev lo nodad`);
    const links = ['ip link set lo up', ...all.map((address) => `ip addr add ${address}`)];
    const script = [...links, 'exec "$0" "$1"'].join(' && ');
    const run = spawnSync('unshare', [...unshare, '/bin/sh', '-c', script, process.execPath, fixture], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    assert.equal(run.status, 0, run.stderr);
    const reports = JSON.parse(run.stdout) as TrapReport[];
    assert.ok(reports.length > 60, String(reports.length));
    assert.deepEqual(
      reports.filter(({ guarded }) => guarded > 0),
      [],
    );
    // The control: without the defence the same URLs reach the trap.
    const harmless = reports.filter(({ unguarded }) => unguarded === 0).map(({ url }) => url);
    assert.deepEqual(harmless, []);
    const open = reports.filter(({ outcome }) => outcome === '302').map(({ url }) => new URL(url).host);
    assert.deepEqual(open, ['rebinding.test', 'id.test']);
  });
});
