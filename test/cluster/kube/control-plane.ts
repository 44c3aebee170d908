import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A running etcd, kube-apiserver and the controllers that collect garbage and namespaces. No node, no root. */
export interface ControlPlane {
  readonly url: string;
  readonly token: string;
  readonly kubeconfig: string;
  close(): Promise<void>;
}

/** Starts one on free loopback ports in a temporary folder. Rejects with the end of a log when it does not come up. */
export async function startControlPlane(binary: string): Promise<ControlPlane> {
  const folder = await mkdtemp(join(tmpdir(), 'ploinky-kube-'));
  const children: ChildProcess[] = [];
  const close = async () => {
    for (const child of children.toReversed()) await end(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { ...(await bringUp(binary, folder, children)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function bringUp(binary: string, folder: string, children: ChildProcess[]) {
  const [etcdPort, peerPort, port, managerPort] = await freePorts(4);
  const token = randomBytes(24).toString('hex');
  const file = (name: string) => join(folder, name);
  await mkdir(file('log'));
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writeFile(file('sa.key'), keys.privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  await writeFile(file('sa.pub'), keys.publicKey.export({ type: 'spki', format: 'pem' }));
  await writeFile(file('tokens.csv'), `${token},admin,admin,"system:masters"\n`, { mode: 0o600 });
  const url = `https://127.0.0.1:${port}`;
  const start = (name: string, ...args: string[]) => children.push(launch(binary, name, args, file('log')));
  const etcd = `http://127.0.0.1:${etcdPort}`;
  start('etcd', '--data-dir', file('etcd'), '--unsafe-no-fsync', '--log-level', 'warn',
    '--listen-client-urls', etcd, '--advertise-client-urls', etcd, '--listen-peer-urls', `http://127.0.0.1:${peerPort}`); // biome-ignore format: one flag a column
  start('kube-apiserver', '--etcd-servers', etcd, '--cert-dir', file('pki'), '--secure-port', String(port),
    '--bind-address', '127.0.0.1', '--advertise-address', '127.0.0.1', '--service-cluster-ip-range', '10.96.0.0/16',
    '--service-account-issuer', 'https://kubernetes.default.svc', '--service-account-key-file', file('sa.pub'),
    '--service-account-signing-key-file', file('sa.key'), '--authorization-mode', 'AlwaysAllow',
    '--token-auth-file', file('tokens.csv')); // biome-ignore format: one flag a column
  await waitReady(url, token, join(folder, 'log'));
  const kubeconfig = file('kubeconfig');
  await writeFile(kubeconfig, JSON.stringify(kubeconfigOf(url, token)), { mode: 0o600 });
  start('kube-controller-manager', '--kubeconfig', kubeconfig, '--leader-elect=false', '--secure-port', String(managerPort),
    '--bind-address', '127.0.0.1', '--cert-dir', file('pki-manager'), '--kube-api-qps', '1000', '--kube-api-burst', '2000',
    '--controllers', 'garbage-collector-controller,namespace-controller'); // biome-ignore format: one flag a column
  return { url, token, kubeconfig };
}

function launch(binary: string, name: string, args: readonly string[], logs: string): ChildProcess {
  const log = openSync(join(logs, `${name}.log`), 'w');
  const child = spawn(binary, [name, ...args], { stdio: ['ignore', log, log] });
  closeSync(log);
  return child;
}

async function waitReady(url: string, token: string, logs: string): Promise<void> {
  for (let tries = 0; tries < 240; tries += 1) {
    if (
      (await statusOf(`${url}/readyz`, token)) === 200 &&
      (await statusOf(`${url}/api/v1/namespaces/default`, token)) === 200
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  const log = await readFile(join(logs, 'kube-apiserver.log'), 'utf8').catch(() => 'no log');
  throw new Error(`kube-apiserver is not ready after 60 s; the end of its log:\n${log.slice(-2000)}`);
}

function statusOf(url: string, token: string): Promise<number> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}` };
    const sent = request(url, { headers, rejectUnauthorized: false, timeout: 2000 }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(0));
    sent.end();
  });
}

function kubeconfigOf(server: string, token: string) {
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'real', cluster: { server, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: 'admin', namespace: 'default' } }],
    'current-context': 'real',
  };
}

async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
  await ended;
  clearTimeout(timer);
}
