import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { generate } from 'selfsigned';
import { secretResource } from '#api/resources.ts';
import { systemClock } from '#kit/clock.ts';
import { createClient } from '#kube/client.ts';
import { urlEndpoint } from '#kube/endpoint.ts';
import { inClusterEndpoint } from '#kube/in-cluster.ts';
import { kubeconfigEndpoint } from '#kube/kubeconfig.ts';
import { createFakeClock } from '#test/fixtures/fake-clock.ts';

interface Identity {
  readonly cert: string;
  readonly key: string;
}

async function selfSigned(): Promise<Identity> {
  const made = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  });
  return { cert: made.cert, key: made.private };
}

/** An HTTPS server that knows one token and answers lists. */
class TokenServer {
  token = 'first';
  readonly seen: string[] = [];
  #server: Server;
  port = 0;

  constructor(identity: Identity) {
    this.#server = createServer(identity, (request, response) => {
      this.seen.push(tokenOf(request));
      const status = tokenOf(request) === this.token ? 200 : 401;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(
          status === 200
            ? { items: [], metadata: { resourceVersion: '1' } }
            : { kind: 'Status', code: 401, reason: 'Unauthorized' },
        ),
      );
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.port, '127.0.0.1', resolve));
    this.port = (this.#server.address() as AddressInfo).port;
  }

  /** Serves on with another certificate. */
  renew(identity: Identity): void {
    this.#server.setSecureContext(identity);
    this.#server.closeAllConnections();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function tokenOf(request: IncomingMessage): string {
  return request.headers.authorization?.replace('Bearer ', '') ?? '';
}

describe('endpoints over TLS', { timeout: 30_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'kube-endpoint-'));
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  let identity: Identity;
  let server: TokenServer;
  before(async () => {
    identity = await selfSigned();
    server = new TokenServer(identity);
    await server.listen();
  });
  after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });

  test('in a cluster, reads a rotated token at its age and at once after a 401', async () => {
    const clock = createFakeClock();
    file('token', 'first\n');
    file('ca.crt', identity.cert);
    const endpoint = inClusterEndpoint({ host: '127.0.0.1', port: String(server.port), clock, folder });
    const client = createClient({ endpoint, clock });
    server.token = 'first';
    await client.list(secretResource);
    file('token', 'second');
    await client.list(secretResource);
    assert.deepEqual(server.seen.splice(0), ['first', 'first']);
    await clock.advance(60_000);
    server.token = 'second';
    await client.list(secretResource);
    assert.deepEqual(server.seen.splice(0), ['second']);
    file('token', 'third');
    server.token = 'third';
    await client.list(secretResource);
    assert.deepEqual(server.seen.splice(0), ['second', 'third']);
    server.token = 'unknown';
    await assert.rejects(client.list(secretResource), { status: 401 });
    assert.deepEqual(server.seen.splice(0), ['third', 'third']);
    await client.close();
  });

  test('in a cluster, trusts a rotated authority at the next connection, and no other', async () => {
    file('token', 'first');
    file('ca.crt', identity.cert);
    server.token = 'first';
    const endpoint = inClusterEndpoint({
      host: '127.0.0.1',
      port: String(server.port),
      clock: systemClock,
      folder,
    });
    const client = createClient({ endpoint, clock: systemClock });
    await client.list(secretResource);
    const next = await selfSigned();
    server.renew(next);
    await assert.rejects(client.list(secretResource), { name: 'TransportError' });
    file('ca.crt', next.cert);
    await client.list(secretResource);
    server.renew(identity);
    await client.close();
  });

  test('in a cluster, says what is missing', async () => {
    const endpoint = inClusterEndpoint({
      host: '127.0.0.1',
      port: '1',
      clock: systemClock,
      folder: '/nonexistent',
    });
    const client = createClient({ endpoint, clock: systemClock });
    await assert.rejects(client.list(secretResource), {
      code: 'BadEndpoint',
      message: /\/nonexistent\/token/,
    });
    await client.close();
  });

  test('by URL, verifies the certificate against the authority given', async () => {
    const url = `https://127.0.0.1:${server.port}`;
    server.token = 'first';
    const trusting = createClient({
      endpoint: urlEndpoint(url, { token: 'first', tls: { ca: identity.cert } }),
      clock: systemClock,
    });
    const doubting = createClient({ endpoint: urlEndpoint(url, { token: 'first' }), clock: systemClock });
    await trusting.list(secretResource);
    await assert.rejects(doubting.list(secretResource), { name: 'TransportError' });
    await Promise.all([trusting.close(), doubting.close()]);
  });

  test('by kubeconfig, asks the exec plugin again after a 401', async () => {
    const token = file('plugin-token', 'first');
    const plugin = `const token = require('fs').readFileSync(${JSON.stringify(token)}, 'utf8');
      console.log(JSON.stringify({apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: {token}}));`;
    const kubeconfig = file(
      'kubeconfig',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        'current-context': 'test',
        contexts: [{ name: 'test', context: { cluster: 'c', user: 'u', namespace: 'team' } }],
        clusters: [
          {
            name: 'c',
            cluster: {
              server: `https://127.0.0.1:${server.port}/`,
              'certificate-authority-data': Buffer.from(identity.cert).toString('base64'),
            },
          },
        ],
        users: [
          {
            name: 'u',
            user: {
              exec: {
                apiVersion: 'client.authentication.k8s.io/v1',
                command: process.execPath,
                args: ['-e', plugin],
                interactiveMode: 'Never',
              },
            },
          },
        ],
      }),
    );
    server.seen.length = 0;
    server.token = 'first';
    const endpoint = await kubeconfigEndpoint({ file: kubeconfig, clock: systemClock });
    const client = createClient({ endpoint, clock: systemClock });
    assert.equal(endpoint.namespace, 'team');
    await client.list(secretResource);
    await assert.rejects(kubeconfigEndpoint({ file: kubeconfig, context: 'other', clock: systemClock }), {
      code: 'BadEndpoint',
      message: /no context "other"/,
    });
    file('plugin-token', 'second');
    server.token = 'second';
    await client.list(secretResource);
    assert.deepEqual(server.seen, ['first', 'first', 'second']);
    await client.close();
  });
});
