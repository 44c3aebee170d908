import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { commands } from './commands.ts';
import { defaultClass } from './existing.ts';
import { addFakeNodes, setFakeNodeReady } from './fake-nodes.ts';
import { clusterFolder } from './folders.ts';
import { startKwok, stopKwok } from './kwok.ts';
import type { Missing } from './parts.ts';
import type { Cluster, Provider } from './provider.ts';
import { hasProgram, run, tryRun } from './run.ts';

/** A kind cluster, where a Docker or podman daemon answers. KIND_IMAGE chooses the node's image and so Kubernetes' version. */
export const kindProvider: Provider = { name: 'kind', unavailable, start, isUp, down };

async function unavailable(): Promise<Missing | undefined> {
  const runtime = await containerRuntime();
  if (runtime === undefined) return { missing: 'neither a Docker nor a podman daemon answers' };
  for (const program of ['kind', 'kubectl', 'helm'])
    if (!(await hasProgram(program))) return { missing: `${runtime} answers; install ${program}` };
  return undefined;
}

async function containerRuntime(): Promise<'docker' | 'podman' | undefined> {
  for (const name of ['docker', 'podman'] as const) {
    if ((await tryRun([name, 'info'], { timeoutMilliseconds: 10_000 })).code === 0) return name;
  }
  return undefined;
}

async function kind(...args: string[]): Promise<string> {
  const isPodman = (await containerRuntime()) === 'podman';
  const env = isPodman ? { ...process.env, KIND_EXPERIMENTAL_PROVIDER: 'podman' } : process.env;
  return await run(['kind', ...args], { env, timeoutMilliseconds: 600_000 });
}

async function isUp(name: string): Promise<boolean> {
  return (await kind('get', 'clusters')).split('\n').includes(name);
}

async function start(name: string, progress: (line: string) => void): Promise<Cluster> {
  const folder = clusterFolder(name);
  const kubeconfig = join(folder, 'kubeconfig');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (await isUp(name)) {
    await kind('export', 'kubeconfig', '--name', name, '--kubeconfig', kubeconfig);
  } else {
    const image = process.env['KIND_IMAGE'];
    progress(`kind makes the cluster ${name}; this takes a minute, or some where its image is not there yet`);
    const node = image === undefined ? [] : ['--image', image];
    await kind('create', 'cluster', '--name', name, '--kubeconfig', kubeconfig, '--wait', '120s', ...node);
  }
  return clusterOf(name, kubeconfig);
}

async function down(name: string): Promise<void> {
  await stopKwok(name);
  await kind('delete', 'cluster', '--name', name);
  await rm(clusterFolder(name), { recursive: true, force: true });
}

function clusterOf(name: string, kubeconfig: string): Cluster {
  const { calls, env } = commands({ enter: [], kubeconfig });
  return {
    name,
    provider: 'kind',
    kubeconfig,
    enter: [],
    env,
    ...calls,
    loadImages: async (archives) => {
      for (const archive of archives) await kind('load', 'image-archive', archive, '--name', name);
    },
    addFakeNodes: async (count, options) => {
      await startKwok(name, kubeconfig);
      return await addFakeNodes(calls, count, options);
    },
    setFakeNodeReady: (node, ready) => setFakeNodeReady(calls, node, ready),
    addVolumes: () => defaultClass(calls),
    close: () => down(name),
  };
}
