import type { KubeObject } from '#api/meta.ts';
import type { Cluster } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { GlobalOptions } from '../target.ts';
import { isForbidden, orForbidden } from './errors.ts';
import { type Pod, podResource, serviceResource } from './objects.ts';
import { defaultHomeNamespace, selectorOf } from './product.ts';

/** Where the product runs in a cluster. */
export interface Installation {
  /** Of its pods. */
  readonly namespace: string;
  /** Namespace whose agents its routers serve without any Route. */
  readonly homeNamespace: string;
  readonly routers: readonly Pod[];
}

/**
 * Finds it by the labels of its router's pods and Service: in the namespace that is named, else in every one that the caller may
 * look into. Undefined when there is none. Throws `usage` when there are several and none is named, `refused` when
 * the caller may look nowhere.
 */
export async function findInstallation(
  cluster: Cluster,
  options: Pick<GlobalOptions, 'homeNamespace'>,
): Promise<Installation | undefined> {
  const pods = await findRouterPods(cluster, options.homeNamespace);
  // Routers that have no pods yet, or can get none, are installed all the same.
  const marks = pods.length > 0 ? pods : await findRouterServices(cluster, options.homeNamespace);
  const namespaces = [...new Set(marks.map(({ metadata }) => metadata.namespace ?? ''))].sort();
  const namespace = chooseNamespace(namespaces, cluster);
  if (namespace === undefined) return undefined;
  const routers = pods.filter(({ metadata }) => metadata.namespace === namespace);
  return { namespace, homeNamespace: homeNamespaceOf(routers[0]) ?? namespace, routers };
}

async function findRouterServices({ client }: Cluster, named: string | undefined): Promise<KubeObject[]> {
  const where = { ...(named !== undefined && { namespace: named }), labelSelector: selectorOf('router') };
  return (await orForbidden(client.list(serviceResource, where), undefined))?.items ?? [];
}

/** As `findInstallation`; `hidden` where it would throw because the caller may look nowhere. */
export async function lookForInstallation(
  cluster: Cluster,
  options: Pick<GlobalOptions, 'homeNamespace'>,
): Promise<Installation | 'hidden' | undefined> {
  try {
    return await findInstallation(cluster, options);
  } catch (error) {
    if (error instanceof CliError && error.exitCode === exitCodes.refused) return 'hidden';
    throw error;
  }
}

export async function listRouterPods({ client }: Cluster, namespace: string | undefined): Promise<Pod[]> {
  const where = namespace === undefined ? {} : { namespace };
  const { items } = await client.list<Pod>(podResource, { ...where, labelSelector: selectorOf('router') });
  return items;
}

async function findRouterPods(cluster: Cluster, named: string | undefined): Promise<Pod[]> {
  const places = named === undefined ? [undefined, defaultHomeNamespace, cluster.namespace] : [named];
  for (const place of places) {
    try {
      return await listRouterPods(cluster, place);
    } catch (error) {
      if (!isForbidden(error)) throw error;
    }
  }
  throw new CliError(
    exitCodes.refused,
    `you may not list pods in ${places.filter((place) => place !== undefined).join(' or ')}`,
    'Name the namespace of the installation with --home-namespace, or the router’s URL with --router.',
  );
}

function chooseNamespace(found: readonly string[], cluster: Cluster): string | undefined {
  if (found.length < 2) return found[0];
  const chosen = [cluster.namespace, defaultHomeNamespace].find((name) => found.includes(name));
  if (chosen !== undefined) return chosen;
  throw new CliError(
    exitCodes.usage,
    `Ploinky is installed in several namespaces: ${found.join(', ')}`,
    'Name one with --home-namespace.',
  );
}

/** What the router was started with. */
function homeNamespaceOf(pod: Pod | undefined): string | undefined {
  for (const { args = [] } of pod?.spec?.containers ?? []) {
    const at = args.indexOf('--home-namespace');
    const value =
      at < 0 ? args.find((arg) => arg.startsWith('--home-namespace='))?.split('=')[1] : args[at + 1];
    // `$(POD_NAMESPACE)` is the default, too.
    if (value !== undefined && !value.startsWith('$')) return value;
  }
  return undefined;
}
