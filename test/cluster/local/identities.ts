import { generateKeyPairSync } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { generate } from 'selfsigned';
import { nodeName, type Place, serviceAddress } from './place.ts';

interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

interface Subject {
  readonly user: string;
  readonly group?: string;
  /** Names and addresses of a server. */
  readonly hosts?: readonly string[];
}

const masters = 'system:masters';

/** Who talks to the API server, by the name of the kubeconfig. Each has its own name, so that the audit log tells them apart. */
const clients: Readonly<Record<string, Subject>> = {
  admin: { user: 'test-admin', group: masters },
  manager: { user: 'system:kube-controller-manager' },
  scheduler: { user: 'system:kube-scheduler' },
  kubelet: { user: `system:node:${nodeName}`, group: 'system:nodes' },
  proxy: { user: 'system:kube-proxy' },
  dns: { user: 'test-dns', group: masters },
  kwok: { user: 'test-kwok', group: masters },
};

/** Writes the authority, every server's and client's certificate, kubeconfigs and the key that signs tokens. */
export async function writeIdentities(place: Place): Promise<void> {
  await mkdir(place.file('pki'), { recursive: true });
  await mkdir(place.file('kubeconfig'), { recursive: true });
  const ca = await makeAuthority();
  await writePair(place, 'ca', ca);
  const servers: Record<string, Subject> = {
    apiserver: {
      user: 'kube-apiserver',
      hosts: [
        ...['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'localhost'],
        ...['kubernetes.default.svc.cluster.local', place.address, serviceAddress, '127.0.0.1'],
      ],
    },
    kubelet: { user: `system:node:${nodeName}`, group: 'system:nodes', hosts: [nodeName, place.address] },
    'apiserver-kubelet-client': { user: 'kube-apiserver-kubelet-client', group: masters },
  };
  for (const [name, subject] of Object.entries(servers))
    await writePair(place, name, await sign(ca, subject));
  for (const [name, subject] of Object.entries(clients)) {
    const config = kubeconfig(place, ca.cert, await sign(ca, subject));
    await writeFile(place.file('kubeconfig', name), JSON.stringify(config), { mode: 0o600 });
  }
  const tokens = generateKeyPairSync('rsa', { modulusLength: 2048 });
  await writePrivate(place.file('pki', 'sa.key'), tokens.privateKey.export({ type: 'pkcs1', format: 'pem' }));
  await writeFile(place.file('pki', 'sa.pub'), tokens.publicKey.export({ type: 'spki', format: 'pem' }));
}

async function makeAuthority(): Promise<KeyPair> {
  const made = await generate([{ name: 'commonName', value: 'test cluster' }], {
    ...keyOptions(),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, digitalSignature: true, critical: true },
    ],
  });
  return { key: made.private, cert: made.cert };
}

async function sign(ca: KeyPair, subject: Subject): Promise<KeyPair> {
  const attributes = [{ name: 'commonName', value: subject.user }];
  if (subject.group !== undefined) attributes.push({ name: 'organizationName', value: subject.group });
  const altNames = (subject.hosts ?? []).map((host) =>
    /^[\d.]+$/.test(host) ? { type: 7 as const, ip: host } : { type: 2 as const, value: host },
  );
  const made = await generate(attributes, {
    ...keyOptions(),
    ca,
    extensions: [
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', clientAuth: true, serverAuth: altNames.length > 0 },
      ...(altNames.length > 0 ? [{ name: 'subjectAltName' as const, altNames }] : []),
    ],
  });
  return { key: made.private, cert: made.cert };
}

function keyOptions() {
  const day = 24 * 60 * 60 * 1000;
  return {
    keyType: 'ec' as const,
    curve: 'P-256' as const,
    algorithm: 'sha256',
    notBeforeDate: new Date(Date.now() - day),
    notAfterDate: new Date(Date.now() + 365 * day),
  };
}

function kubeconfig(place: Place, ca: string, client: KeyPair) {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const cluster = { server: `https://${place.address}:6443`, 'certificate-authority-data': base64(ca) };
  const user = { 'client-certificate-data': base64(client.cert), 'client-key-data': base64(client.key) };
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: place.name, cluster }],
    users: [{ name: place.name, user }],
    contexts: [
      { name: place.name, context: { cluster: place.name, user: place.name, namespace: 'default' } },
    ],
    'current-context': place.name,
  };
}

async function writePair(place: Place, name: string, pair: KeyPair): Promise<void> {
  await writeFile(place.file('pki', `${name}.crt`), pair.cert);
  await writePrivate(place.file('pki', `${name}.key`), pair.key);
}

async function writePrivate(path: string, text: string | Buffer): Promise<void> {
  await writeFile(path, text, { mode: 0o600 });
}
