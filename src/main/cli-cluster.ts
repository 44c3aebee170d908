import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Cli, Cluster, ClusterRequest } from '#cli/context.ts';
import { systemClock } from '#kit/clock.ts';
import { CodedError, codeOf } from '#kit/errors.ts';
import { createClient } from '#kube/client.ts';
import { kubeconfigEndpoint } from '#kube/kubeconfig.ts';

/** kubectl runs a program named kubectl-ploinky for `kubectl ploinky`; bin/ploinky tells the name in the environment. */
export function calledAs(
  env: Record<string, string | undefined>,
  program: string | undefined,
): Cli['calledAs'] {
  const name = env['PLOINKY_CALLED_AS'] || basename(program ?? '');
  // It speaks of this process alone, not of those that it starts.
  delete env['PLOINKY_CALLED_AS'];
  return name.startsWith('kubectl-') ? 'kubectl ploinky' : 'ploinky';
}

export async function openCluster({ kubeconfig, context }: ClusterRequest): Promise<Cluster> {
  const file = kubeconfig === undefined ? {} : { file: kubeconfig };
  const named = { ...file, ...(context !== undefined && { context }) };
  const endpoint = await kubeconfigEndpoint({ ...named, clock: systemClock });
  const client = createClient({ endpoint, clock: systemClock, userAgent: 'ploinky-cli' });
  return {
    context: endpoint.context,
    server: `${endpoint.origin}${endpoint.pathPrefix}`,
    namespace: endpoint.namespace,
    client,
    forward: async (pods) => {
      const { openPortForward } = await import('#kube/port-forward.ts');
      // The context of now: another process may make another one the current one meanwhile.
      return openPortForward({ ...file, context: endpoint.context, pods, clock: systemClock });
    },
    close: () => client.close(),
  };
}

/** The chart beside the bundles of the image, or in the checkout. */
export async function findChart(...folders: readonly string[]): Promise<string> {
  for (const folder of folders) {
    const chart = join(folder, 'charts/ploinky');
    const found = await access(join(chart, 'Chart.yaml')).then(
      () => true,
      () => false,
    );
    if (found) return chart;
  }
  throw new CodedError('NoChart', 'the chart of this version is not beside this program', {
    remedy: 'Name one with --chart.',
  });
}

/** Helm's own output is this program's. Ctrl-C reaches it by the terminal; a signal to this program alone is passed on. */
export async function runHelm(args: readonly string[], interrupted: AbortSignal): Promise<number> {
  const child = spawn('helm', [...args], { stdio: 'inherit' });
  const stop = () => child.kill('SIGTERM');
  interrupted.addEventListener('abort', stop, { once: true });
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return code ?? 130;
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new CodedError('NoHelm', 'helm is not on PATH', {
      remedy: 'Get Helm 3.14 or later from https://helm.sh/docs/intro/install and try again.',
    });
  } finally {
    interrupted.removeEventListener('abort', stop);
  }
}
