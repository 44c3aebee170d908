import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { version } from '#main/version.ts';
import { ensureImages } from '../../scripts/images/ensure.ts';
import { type Rootfs, unpackImage } from './rootfs.ts';

const ensured = await ensureImages(['controller'], (line) => console.error(line));
const skip = 'missing' in ensured ? `no images can be built here: ${ensured.missing}` : false;

const node = '/usr/local/bin/node';
/** An API server that is not there: what is shown is that the programs come as far as asking it. */
const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
current-context: nowhere
`;
const common = ['--kubeconfig', '/kubeconfig', '--home-namespace', 'home'];

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Asks until there is an answer, for at most 20 s. */
async function fetchSoon(url: string): Promise<Response> {
  const end = performance.now() + 20_000;
  for (;;) {
    const response = await fetch(url).catch(() => undefined);
    if (response !== undefined) return response;
    if (performance.now() > end) throw new Error(`${url} does not answer`);
    await sleep(100);
  }
}

suite('Programs of the controller image, with its root read-only', { skip }, () => {
  let rootfs: Rootfs;
  const started: ChildProcess[] = [];

  function start(args: readonly string[]): { readonly output: () => string } {
    const [file = '', ...rest] = rootfs.argv([node, ...args]);
    const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    started.push(child);
    return { output: () => Buffer.concat(chunks).toString() };
  }

  before(async () => {
    rootfs = await unpackImage('missing' in ensured ? '' : (ensured.archives.controller ?? ''));
    await writeFile(join(rootfs.folder, 'kubeconfig'), kubeconfig, { mode: 0o644 });
  });
  after(async () => {
    const running = started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(
      running.map((child) => {
        child.kill('SIGKILL');
        return once(child, 'exit');
      }),
    );
    await rootfs.remove();
  });

  test('the command line says its version', async () => {
    assert.match(
      await rootfs.run([node, '/app/ploinky.mjs', '--version']),
      new RegExp(`^ploinky ${version}`),
    );
  });

  for (const program of ['controller', 'router', 'egress']) {
    test(`the ${program} names a flag that it does not have`, async () => {
      const run = rootfs.run([node, `/app/${program}.mjs`, '--nonsense', 'x']);
      await assert.rejects(run, /Unknown option '--nonsense'/);
    });
  }

  test('the router serves pages and metrics, and reads a kubeconfig', async () => {
    const [port, agents] = [await freePort(), await freePort()];
    const listen = ['--listen', `127.0.0.1:${port}`, '--agents-listen', `127.0.0.1:${agents}`];
    const router = start(['/app/router.mjs', ...common, ...listen]);
    const page = await fetchSoon(`http://127.0.0.1:${port}/MCPBrowserClient.js`);
    assert.equal(page.status, 200, router.output());
    assert.match(await page.text(), /export/);
    const metrics = await fetchSoon(`http://127.0.0.1:${port}/metrics`);
    assert.match(await metrics.text(), /^process_cpu_seconds_total/m);
  });

  test('the egress proxy answers for its health', async () => {
    const [port, status] = [await freePort(), await freePort()];
    const listen = ['--listen', `127.0.0.1:${port}`, '--status-listen', `127.0.0.1:${status}`];
    const egress = start(['/app/egress.mjs', ...common, ...listen]);
    const health = await fetchSoon(`http://127.0.0.1:${status}/healthz`);
    assert.equal(health.status, 200, egress.output());
  });

  test('the controller answers for its health while it tries to reach the API', async () => {
    const status = await freePort();
    const addresses = ['--router-address', '127.0.0.1:1', '--egress-address', '127.0.0.1:1'];
    const more = ['--agent-image', 'localhost/agent', '--status-listen', `127.0.0.1:${status}`];
    const controller = start(['/app/controller.mjs', ...common, ...addresses, ...more]);
    const health = await fetchSoon(`http://127.0.0.1:${status}/healthz`);
    assert.equal(health.status, 200, controller.output());
  });
});
