import type { PodPort } from '#kube/port-forward.ts';
import type { Cli, Cluster } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Router } from '../router.ts';
import type { GlobalOptions } from '../target.ts';
import { notInstalled } from './errors.ts';
import { findInstallation, type Installation, listRouterPods } from './installation.ts';
import { isReady, type Pod } from './objects.ts';
import { routerPort } from './product.ts';
import { answers, findPublicUrl, parseRouterUrl } from './public-url.ts';
import { findServed, notServed, type Served } from './served-at.ts';

const probeTimeoutMs = 3_000;

type Open = Router & { close(): Promise<void> };

/**
 * What leads to the tools of the cluster's namespace: the URL that is named, else the public one when it answers,
 * else a listener that leads to a pod. Throws `notRunning`, and `notFound` when no Route serves a namespace that was
 * named.
 */
export async function findRouter(cli: Cli, cluster: Cluster, options: GlobalOptions): Promise<Open> {
  const named = options.router === undefined ? undefined : parseRouterUrl(options.router);
  const served = await findServed(cluster);
  const { place } = served;
  if (named !== undefined) {
    return {
      url: named,
      host: place?.host,
      path: place?.path,
      close: async () => undefined,
    };
  }
  const installation = await findInstallation(cluster, options);
  if (installation === undefined) throw notInstalled(cluster);
  const isHome = cluster.namespace === installation.homeNamespace;
  if (place === undefined && !isHome) sayNotServed(cli, cluster, { ...installation, ...served }, options);
  const found = await reach(cli, cluster, installation);
  return isHome ? found : { ...found, host: place?.host ?? found.host, path: place?.path };
}

/** A router, for what each of them tells of every namespace. Throws `notRunning`. */
export async function findAnyRouter(cli: Cli, cluster: Cluster, options: GlobalOptions): Promise<Open> {
  if (options.router !== undefined) {
    return { url: parseRouterUrl(options.router), close: async () => undefined };
  }
  const installation = await findInstallation(cluster, options);
  if (installation === undefined) throw notInstalled(cluster);
  return reach(cli, cluster, installation);
}

/** A namespace that was named must be served; of one that only the context has, what is served instead is told. */
function sayNotServed(
  cli: Cli,
  { namespace }: Cluster,
  { homeNamespace, refused }: Installation & Served,
  options: GlobalOptions,
): void {
  const error = notServed(namespace, homeNamespace, refused);
  if (options.namespace !== undefined) throw error;
  cli.terminal.note(
    `Namespace ${namespace} has no Route with mcp; these are the tools of ${homeNamespace}. With --namespace ${namespace} it is told how to make one.`,
  );
}

async function reach(cli: Cli, cluster: Cluster, installation: Installation): Promise<Open> {
  const url = await findPublicUrl(cluster, installation.namespace);
  if (url !== undefined) {
    if (await answers(url, probeTimeoutMs)) return { url, close: async () => undefined };
    cli.terminal.note(`No router answers at ${url}; going by port-forward.`);
  }
  return forwardToRouter(cluster, installation);
}

async function forwardToRouter(cluster: Cluster, installation: Installation): Promise<Open> {
  const { namespace, routers } = installation;
  const first = routers.filter(isReady);
  if (first.length === 0) {
    throw new CliError(
      exitCodes.notRunning,
      routers.length === 0
        ? `the router in namespace ${namespace} has no pods`
        : `none of the ${routers.length} router pods in namespace ${namespace} is ready`,
      `\`ploinky logs --process router --context ${cluster.context}\` and \`kubectl -n ${namespace} describe deployments,pods\` tell more.`,
    );
  }
  let known: readonly Pod[] | undefined = first;
  const forward = await cluster.forward(async () => {
    // The first connection goes by what was just read; pods may come and go before the next.
    const pods = known ?? (await listRouterPods(cluster, namespace)).filter(isReady);
    known = undefined;
    return pods.map(portOf);
  });
  return {
    url: `http://127.0.0.1:${forward.port}`,
    isForwarded: true,
    // The router answers for the loopback at its own port.
    host: `localhost:${portOf(first[0]).port}`,
    trouble: () => forward.lastTrouble(),
    close: () => forward.close(),
  };
}

function portOf(pod: Pod | undefined): PodPort {
  const ports = (pod?.spec?.containers ?? []).flatMap((container) => container.ports ?? []);
  const port =
    ports.find(({ name }) => name === 'http') ??
    ports.find(({ containerPort }) => containerPort === routerPort);
  const { namespace = '', name = '' } = pod?.metadata ?? {};
  return { namespace, pod: name, port: port?.containerPort ?? routerPort };
}
