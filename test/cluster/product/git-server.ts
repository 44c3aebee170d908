import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Certificates, makeCertificates } from '#test/fixtures/git-server/certificates.ts';
import { tagOf } from '../../../scripts/images/recipes.ts';
import { openSpace, type Space } from './product.ts';

/** A git server in a namespace of its own, which nobody's authority signed and that wants a password. */
export interface GitServer {
  readonly url: string;
  /** Entry of `network.installEgress` that leads to it. */
  readonly rule: { readonly cidr: string; readonly ports: readonly number[] };
  readonly commit: string;
  readonly certificates: Certificates;
  /** `user:password`. */
  readonly credential: string;
  remove(): Promise<void>;
}

const port = 8443;
const credential = 'reader:correct horse';
const program = join(import.meta.dirname, '../../fixtures/git-server/server.mjs');

/** `repository`: files by path. `folder`: for certificates. */
export async function startGitServer(
  { cluster, namespace: beside }: Space,
  folder: string,
  repository: Readonly<Record<string, string>>,
): Promise<GitServer> {
  const namespace = `${beside}-server`;
  await cluster.kubectl(['create', 'namespace', namespace]);
  const space = openSpace(cluster, namespace);
  await space.apply(service);
  const address = await space.kubectl('get', 'service', 'git', '-o', 'jsonpath={.spec.clusterIP}');
  const certificates = makeCertificates(folder, 'server', address);
  const { cert, key } = certificates;
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'git' } };
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'git' } };
  await space.apply(
    { ...secret, stringData: { cert, key, credential } },
    { ...map, data: { 'server.mjs': await readFile(program, 'utf8') } },
    podWith(repository),
  );
  await space.kubectl('wait', '--for=condition=Ready', 'pod/git', '--timeout=90s');
  const { commit } = JSON.parse(await space.kubectl('logs', 'git')) as { commit: string };
  return {
    url: `https://${address}:${port}/agents.git`,
    rule: { cidr: `${address}/32`, ports: [port] },
    commit,
    certificates,
    credential,
    remove: async () => void (await cluster.kubectl(['delete', 'namespace', namespace, '--timeout=90s'])),
  };
}

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'git' },
  spec: { selector: { app: 'git' }, ports: [{ port }] },
};

function podWith(repository: Readonly<Record<string, string>>): object {
  const folder = (name: string) => ({ name, mountPath: `/${name}`, readOnly: name !== 'data' });
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'git', labels: { app: 'git' } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 10001,
        fsGroup: 10001,
        seccompProfile: { type: 'RuntimeDefault' },
      },
      containers: [
        {
          name: 'git',
          image: tagOf('agent'),
          imagePullPolicy: 'IfNotPresent',
          command: ['/Agent/bin/node', '/program/server.mjs', '/data', String(port)],
          env: [
            { name: 'TLS_CERT', value: '/secret/cert' },
            { name: 'TLS_KEY', value: '/secret/key' },
            { name: 'CREDENTIAL', value: '/secret/credential' },
            { name: 'REPOSITORY', value: JSON.stringify(repository) },
          ],
          readinessProbe: { tcpSocket: { port }, periodSeconds: 1 },
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          volumeMounts: ['data', 'program', 'secret'].map(folder),
        },
      ],
      volumes: [
        { name: 'data', emptyDir: {} },
        { name: 'program', configMap: { name: 'git' } },
        { name: 'secret', secret: { secretName: 'git' } },
      ],
    },
  };
}
