import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '#test/cluster/provider.ts';
import type { Scope } from '../harness/scope.ts';

/** How a pod knows the API server and itself. */
export interface ServiceAccount {
  readonly host: string;
  readonly port: string;
  /** With `token` and `ca.crt`. */
  readonly folder: string;
}

const name = 'ploinky-bench';

/** One that may do everything: what the API server does to find that out is a list of rules, as with the chart's. */
export async function makeServiceAccount(
  cluster: Cluster,
  scope: Scope,
  namespace: string,
): Promise<ServiceAccount> {
  const objects = [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ];
  for (const object of objects)
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) });
  const token = await cluster.kubectl(['create', 'token', name, '-n', namespace, '--duration', '12h']);
  const view = await cluster.kubectl(['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json']);
  const { server, 'certificate-authority-data': ca } = JSON.parse(view).clusters[0].cluster;
  const { hostname, port } = new URL(server);
  const folder = join(scope.folder, 'service-account');
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, 'token'), token.trim(), { mode: 0o600 });
  writeFileSync(join(folder, 'ca.crt'), Buffer.from(ca, 'base64'));
  return { host: hostname, port: port || '443', folder };
}

/** The API server, or a way to it at another port of this host. */
export function environmentOf(account: ServiceAccount, port?: number): Record<string, string> {
  return {
    SERVICE_ACCOUNT: account.folder,
    KUBERNETES_SERVICE_HOST: port === undefined ? account.host : '127.0.0.1',
    KUBERNETES_SERVICE_PORT: port === undefined ? account.port : String(port),
  };
}
