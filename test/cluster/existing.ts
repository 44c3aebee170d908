import { commands } from './commands.ts';
import { addFakeNodes, setFakeNodeReady } from './fake-nodes.ts';
import { startKwok, stopKwok } from './kwok.ts';
import type { Missing } from './parts.ts';
import type { Cluster, Provider } from './provider.ts';
import { hasProgram, run, tryRun } from './run.ts';

/** The cluster that KUBECONFIG points to. Whoever names it gets it changed by tests, so it must be asked for. */
export const existingProvider: Provider = {
  name: 'existing',
  unavailable,
  start,
  // Never ours to take down: it is up whatever happens.
  isUp: async () => true,
  down: stopKwok,
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
    loadImages: (archives) => loadImages(archives),
    addFakeNodes: async (count, options) => {
      await startKwok(name, kubeconfig);
      return await addFakeNodes(calls, count, options);
    },
    setFakeNodeReady: (node, ready) => setFakeNodeReady(calls, node, ready),
    addVolumes: () => defaultClass(calls),
    close: () => stopKwok(name),
  };
}

/** Only whoever has the cluster knows how its nodes get images: CLUSTER_LOAD is the command that an archive follows. */
async function loadImages(archives: readonly string[]): Promise<void> {
  const command = process.env['CLUSTER_LOAD'];
  if (!command)
    throw new Error('set CLUSTER_LOAD to the command that loads an image archive into the cluster');
  for (const archive of archives) await run(['sh', '-c', `${command} "$0"`, archive]);
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
