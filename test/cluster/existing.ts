import { commands } from './commands.ts';
import { addFakeNodes, setFakeNodeReady } from './fake-nodes.ts';
import type { Missing } from './parts.ts';
import type { Cluster, Provider } from './provider.ts';
import { hasProgram, tryRun } from './run.ts';

/** The cluster that KUBECONFIG points to. Whoever names it gets it changed by tests, so it must be asked for. */
export const existingProvider: Provider = {
  name: 'existing',
  unavailable,
  start,
  isUp: async () => true,
  down: async () => undefined,
};

async function unavailable(): Promise<Missing | undefined> {
  if (!process.env['KUBECONFIG']) return { missing: 'CLUSTER is "existing"; set KUBECONFIG too' };
  if (!(await hasProgram('kubectl'))) return { missing: 'install kubectl' };
  const answer = await tryRun(['kubectl', '--request-timeout=10s', 'get', '--raw', '/readyz']);
  return answer.code === 0 ? undefined : { missing: `the cluster of KUBECONFIG: ${answer.stderr.trim()}` };
}

async function start(name: string): Promise<Cluster> {
  const kubeconfig = process.env['KUBECONFIG'] ?? '';
  const { calls, env } = commands({ enter: [], kubeconfig });
  return {
    name,
    provider: 'existing',
    kubeconfig,
    enter: [],
    env,
    ...calls,
    loadImages: async () => {
      const command = process.env['CLUSTER_LOAD'];
      throw new Error(
        command ?? 'how an existing cluster gets images only you know: push them and leave loading out',
      );
    },
    addFakeNodes: (count, options) => addFakeNodes(calls, count, options),
    setFakeNodeReady: (node, ready) => setFakeNodeReady(calls, node, ready),
    addVolumes: () => defaultClass(calls),
    close: async () => undefined,
  };
}

/** The class that claims without one get. Rejects when the cluster has none. */
export async function defaultClass({ kubectl }: Pick<Cluster, 'kubectl'>): Promise<string> {
  const list = JSON.parse(await kubectl(['get', 'storageclasses', '-ojson'])) as {
    items: { metadata: { name: string; annotations?: Record<string, string> } }[];
  };
  const found = list.items.find(
    ({ metadata }) => metadata.annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true',
  );
  if (found === undefined)
    throw new Error('the cluster has no default StorageClass: mark one as the default');
  return found.metadata.name;
}
