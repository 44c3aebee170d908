import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Namespace } from '#api/core-kinds.ts';
import type { Resource } from '#api/meta.ts';
import { systemClock } from '#kit/clock.ts';
import { type Client, createClient } from '#kube/client.ts';
import { isAlreadyExists } from '#kube/errors.ts';
import { kubeconfigEndpoint } from '#kube/kubeconfig.ts';
import { fakeNodePod } from '#test/cluster/fake-nodes.ts';
import type { Cluster } from '#test/cluster/provider.ts';
import { buildApp } from '../../../scripts/build.ts';
import { checkout, type Scope } from '../harness/scope.ts';
import { type AuditLog, openAuditLog } from './audit-log.ts';
import { makeServiceAccount, type ServiceAccount } from './service-account.ts';

/** An API with the product's kinds and something that runs pods, and the programs of the product, bundled as in its image. */
export interface Ground {
  readonly client: Client;
  /** Namespace of the controller and the routers. */
  readonly home: string;
  /** Folder of controller.mjs and router.mjs. */
  readonly app: string;
  /** File that makes the controller put pods where they are run. */
  readonly podDefaults: string;
  readonly audit: AuditLog;
  /** What the programs authenticate with. */
  readonly account: ServiceAccount;
  makeNamespace(name: string): Promise<void>;
}

/** A cluster with simulated nodes. */
export interface Stage extends Ground {
  readonly cluster: Cluster;
}

export const home = 'ploinky-system';
export const namespaceResource: Resource = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
};
/** Room for every pod of a run at once, those that are ending too. */
const nodes = 24;
const podsANode = 600;

/** For a process inside the cluster's network. */
export async function openStage(cluster: Cluster, scope: Scope): Promise<Stage> {
  const endpoint = await kubeconfigEndpoint({ file: cluster.kubeconfig, clock: systemClock });
  const client = createClient({ endpoint, clock: systemClock, userAgent: 'ploinky-bench' });
  scope.defer(() => client.close());
  const podDefaults = join(scope.folder, 'pod-defaults.json');
  writeFileSync(podDefaults, JSON.stringify({ spec: fakeNodePod }));
  const makeNamespace = (name: string) => createNamespace(client, name);
  await cluster.kubectl(['apply', '--server-side', '-f', join(checkout, 'crds')]);
  await cluster.kubectl([
    'wait',
    '--for=condition=Established',
    '--timeout=60s',
    '-f',
    join(checkout, 'crds'),
  ]);
  await cluster.addFakeNodes(nodes, { pods: podsANode });
  await makeNamespace(home);
  return {
    cluster,
    client,
    home,
    app: await buildApp(join(scope.folder, 'app')),
    podDefaults,
    audit: openAuditLog(cluster.auditLog),
    account: await makeServiceAccount(cluster, scope, home),
    makeNamespace,
  };
}

/** With the strictest admission, as agents should run: checking pods is part of what the API server does. */
export async function createNamespace(client: Client, name: string): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/enforce': 'restricted' };
  const namespace: Namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
  try {
    await client.create<Namespace>(namespaceResource, namespace);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
