import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Driver } from '#drivers/driver.ts';
import {
  bwrapAvailability,
  bwrapDriver,
  createDriverHost,
  type DriverHost,
  ensureUntil,
  removeFully,
  runInside,
  workloadOf,
} from '#test/fixtures/driver-host.ts';
import { onlyInstance } from './suite.ts';

const unshare = process.getuid?.() === 0 ? ['-n'] : ['-r', '-n'];
const canUnshare = spawnSync('unshare', [...unshare, 'ip', 'link', 'set', 'lo', 'up']).status === 0;
const availability = await bwrapAvailability();
const skip = !availability.ok
  ? availability.reason
  : !canUnshare && 'needs unshare(1) and ip(8) for a network namespace of its own';

/** Private ranges are refused whatever a rule says, so the hosts are on 203.0.113.0/24 in a network of the test's own. */
describe('egress from a sandbox', { skip, timeout: 60_000 }, () => {
  const workload = workloadOf({ egress: [{ host: 'allowed.test' }] });
  let host: DriverHost;
  let driver: Driver;
  let network: ChildProcess;
  let address: string;
  before(async () => {
    host = createDriverHost();
    network = await startNetwork(host.sockets.egress);
    driver = bwrapDriver(host);
    const seen = await ensureUntil(driver, workload, ({ phase }) => phase === 'Running');
    address = onlyInstance(seen).address;
  });
  after(async () => {
    await removeFully(driver, workload);
    await driver.close();
    network.stdin?.end();
    await new Promise((resolve) => network.once('exit', resolve));
    host.remove();
  });

  const node = async (script: string) => (await runInside(address, 'node', '-e', script)).stdout.trim();
  const tunnel = (target: string) =>
    node(`const socket = require('net').connect(3128, '127.0.0.1');
      socket.write('CONNECT ${target} HTTP/1.1\\r\\nhost: ${target}\\r\\n\\r\\n');
      socket.on('data', (chunk) => process.stdout.write(chunk)).on('error', (error) => console.log(error.code));`);

  it('reaches an allowed host through the proxy', async () => {
    assert.match(await tunnel('allowed.test:443'), /^HTTP\/1\.1 200 .*hello from 203\.0\.113\.10$/s);
  });

  it('reaches it with an ordinary fetch, which finds the proxy in its environment', async () => {
    const script = `fetch('http://allowed.test/').then((a) => a.text()).then(console.log, (error) => console.log(String(error.cause)))`;
    assert.equal(await node(script), 'page of 203.0.113.10');
  });

  it('is refused every other host, port and address, and told which rule to add', async () => {
    assert.match(await tunnel('other.test:443'), /^HTTP\/1\.1 403 .*host: other\.test, ports: \[443\]/s);
    assert.match(await tunnel('allowed.test:8443'), /^HTTP\/1\.1 403 /);
    assert.match(await tunnel('203.0.113.10:443'), /^HTTP\/1\.1 403 /);
  });

  it('does not reach the machine itself by a name that leads there', async () => {
    assert.match(await tunnel('inward.test:443'), /^HTTP\/1\.1 403 PrivateAddress.*127\.0\.0\.1/s);
  });

  it('has no other way out: not directly, not by DNS', async () => {
    const direct = `require('net').connect(443, '203.0.113.10').on('error', (error) => console.log(error.code)).on('connect', () => console.log('connected'))`;
    assert.equal(await node(direct), 'ENETUNREACH');
    const resolve = `require('dns').resolve4('allowed.test', (error) => console.log(error.code))`;
    assert.match(await node(resolve), /^(ECONNREFUSED|ENOTFOUND|ESERVFAIL|ETIMEOUT)$/);
  });
});

async function startNetwork(socket: string): Promise<ChildProcess> {
  const fixture = join(import.meta.dirname, '../../fixtures/egress-in-netns.ts');
  const addresses = ['203.0.113.10', '203.0.113.11'].map((ip) => `ip addr add ${ip}/32 dev lo`).join(' && ');
  const script = `ip link set lo up && ${addresses} && exec "$0" "$1" "$2"`;
  const child = spawn('unshare', [...unshare, '/bin/sh', '-c', script, process.execPath, fixture, socket], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve);
    child.once('exit', () => reject(new Error('the network of the test did not start')));
  });
  return child;
}
