import type { Clock } from '#kit/clock.ts';
import { CodedError } from '#kit/errors.ts';
import { type Client, createClient } from '#kube/client.ts';
import type { Endpoint } from '#kube/endpoint.ts';
import { inClusterEndpoint } from '#kube/in-cluster.ts';
import { kubeconfigEndpoint } from '#kube/kubeconfig.ts';
import type { Metrics } from '#kube/metrics.ts';

export interface ApiOptions {
  /** Path of a kubeconfig; '': the pod's own service account, else what KUBECONFIG names. */
  readonly kubeconfig: string;
  /** Context of the kubeconfig; '': its current one. */
  readonly context: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly metrics: Metrics;
}

/** A client of the cluster that this process is meant for. Throws TransportError BadEndpoint, or Usage. */
export async function openApi(options: ApiOptions): Promise<Client> {
  const { clock, userAgent, metrics } = options;
  return createClient({ endpoint: await findEndpoint(options), clock, userAgent, metrics });
}

async function findEndpoint({ kubeconfig, context, env, clock }: ApiOptions): Promise<Endpoint> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port, KUBECONFIG } = env;
  const isInCluster = host !== undefined && port !== undefined;
  if (kubeconfig === '' && context === '' && isInCluster) return inClusterEndpoint({ host, port, clock });
  if (kubeconfig === '' && KUBECONFIG === undefined) {
    throw new CodedError('Usage', 'there is no Kubernetes API to talk to', {
      remedy: 'Run it in a pod with a service account, or give --kubeconfig FILE.',
    });
  }
  return kubeconfigEndpoint({
    clock,
    ...(kubeconfig !== '' && { file: kubeconfig }),
    ...(context !== '' && { context }),
  });
}
