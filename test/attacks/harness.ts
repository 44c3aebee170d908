import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import type { Weakening } from '#test/fixtures/attack-sandbox.ts';
import { createDriverHost } from '#test/fixtures/driver-host.ts';
import type { Substrate, Target } from './case.ts';
import { probes } from './probe.ts';
import { openNone } from './substrates/none.ts';
import { openOurs } from './substrates/ours.ts';
import { openPeer } from './substrates/peer.ts';

/** What attacks are after, with listeners that nobody inside may reach, and the ways to run them. */
export interface Harness {
  readonly target: Target;
  ours(weakening?: Weakening): Substrate;
  /** One whose author made the project writable for it. */
  oursWritable(): Substrate;
  none(): Substrate;
  peer(): Promise<Substrate>;
  /** Puts the project and the home folder back to what they were. */
  reset(): void;
  close(): Promise<void>;
}

const word = 'canary-of-the-host';

export async function openHarness(hosts: Readonly<Record<string, string>> = {}): Promise<Harness> {
  const host = createDriverHost('ploinky-attacks-');
  chmodSync(host.folder, 0o755);
  const at = (...names: string[]) => join(host.folder, ...names);
  const folders = {
    elsewhere: at('elsewhere'),
    home: at('home'),
    project: at('project'),
    scratch: at('scratch'),
  };
  const files = {
    canary: join(folders.elsewhere, 'canary'),
    other: join(host.places.state, 'agents/other/diary'),
    key: join(host.places.state, 'apiserver/master'),
  };
  for (const path of Object.values(files)) {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, word);
  }
  mkdirSync(folders.scratch);
  const reset = () => resetProject(folders.project, folders.home);
  reset();
  const descriptor = openSync(files.canary, 'r');
  const victim = spawn('sleep', ['3600'], { env: { CANARY: word }, stdio: 'ignore' });
  const listeners = await openListeners(host.folder, Object.values(hosts));
  const paths = { scratch: folders.scratch, project: folders.project };
  const target: Target = {
    ...files,
    ...{
      word,
      pid: victim.pid ?? 0,
      home: folders.home,
      project: folders.project,
      folder: folders.elsewhere,
    },
    shared: host.places.shared,
    descriptor,
    network: { ...listeners.network, hosts },
  };
  return {
    target,
    reset,
    ours: (weakening) => openOurs(host, folders.project, weakening),
    oursWritable: () => openOurs(host, folders.project, {}, true),
    none: () => openNone(paths, descriptor),
    peer: () => openPeer(paths, [folders.elsewhere, host.places.state, folders.home]),
    async close() {
      closeSync(descriptor);
      victim.kill('SIGKILL');
      await listeners.close();
      host.remove();
    },
  };
}

function resetProject(project: string, home: string): void {
  // The folders stay: one is somebody's working folder.
  for (const folder of [project, home]) {
    mkdirSync(folder, { recursive: true, mode: 0o755 });
    for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
  }
  mkdirSync(join(project, '.git/hooks'), { recursive: true });
  writeFileSync(join(project, '.git/config'), '[core]\n');
  writeFileSync(join(project, '.git/HEAD'), 'ref: refs/heads/main\n');
  copyFileSync(probes, join(project, 'probes.py'));
}

async function openListeners(folder: string, addresses: readonly string[]) {
  const abstract = `ploinky-attacks-${process.pid}`;
  const unix = join(folder, 'host.sock');
  const accept = (listen: (server: Server) => void) => {
    const server = createServer((socket) => socket.on('error', () => undefined).end());
    return new Promise<Server>((resolve, reject) => {
      server.once('error', reject).once('listening', () => resolve(server));
      listen(server);
    });
  };
  const first = await accept((server) => server.listen(0, '127.0.0.1'));
  const { port } = first.address() as { port: number };
  const servers = [
    first,
    await accept((server) => server.listen(`\0${abstract}`)),
    await accept((server) => server.listen(unix)),
  ];
  chmodSync(unix, 0o666);
  const six = await accept((server) => server.listen(port, '::1')).catch(() => undefined);
  if (six !== undefined) servers.push(six);
  for (const address of addresses) servers.push(await accept((server) => server.listen(port, address)));
  const dns = createSocket('udp4');
  dns.on('message', (message, { address, port: from }) => dns.send(message, from, address));
  await new Promise<void>((resolve) => dns.bind(0, '127.0.0.1', resolve));
  return {
    network: { port, hostPort: port, abstract, unix, dns: '127.0.0.1', dnsPort: dns.address().port },
    async close() {
      dns.close();
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}
