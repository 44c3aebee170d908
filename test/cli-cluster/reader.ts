import type { Cluster } from '#test/cluster/provider.ts';

const api = 'rbac.authorization.k8s.io';
const rules = [{ apiGroups: ['ploinky.dev'], resources: ['agents', 'routes'], verbs: ['get', 'list'] }];

/** A service account that may look at the agents and routes of one namespace and nothing else. */
export function readerOf(namespace: string): object[] {
  const metadata = { namespace, name: 'reader' };
  const subjects = [{ kind: 'ServiceAccount', ...metadata }];
  const roleRef = { apiGroup: api, kind: 'Role', name: 'reader' };
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    { apiVersion: `${api}/v1`, kind: 'Role', metadata, rules },
    { apiVersion: `${api}/v1`, kind: 'RoleBinding', metadata, subjects, roleRef },
  ];
}

/** The cluster's kubeconfig with its token instead of an administrator's credentials. */
export async function kubeconfigOfReader(cluster: Cluster, namespace: string): Promise<string> {
  const token = (await cluster.kubectl(['create', 'token', 'reader', '-n', namespace])).trim();
  const view = ['config', 'view', '--raw', '--minify', '--flatten', '-o', 'json'];
  const config = JSON.parse(await cluster.kubectl(view)) as { users: { name: string }[] };
  return JSON.stringify({ ...config, users: config.users.map(({ name }) => ({ name, user: { token } })) });
}
