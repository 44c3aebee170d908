import type { Agent } from '#api/agent.ts';
import { agentResource } from '#api/resources.ts';
import { isNotFound } from '#kube/errors.ts';
import type { Cli, Cluster } from '../context.ts';
import { readSso, ssoLines } from '../sso-line.ts';
import type { GlobalOptions } from '../target.ts';
import { toLine } from '../wait-agents.ts';
import { type ProgramFacts, readPrograms } from './facts.ts';
import { lookForInstallation } from './installation.ts';
import { findPublicUrl, parseRouterUrl } from './public-url.ts';

export interface ClusterStatus {
  readonly context: string;
  readonly server: string;
  readonly namespace: string;
  /** A router is ready. `undefined`: the caller may not look. */
  readonly up: boolean | undefined;
  /** Where the router listens for everybody; undefined: port-forward leads to it. */
  readonly url: string | undefined;
  /** Undefined: not installed. */
  readonly home: string | undefined;
  readonly programs: ProgramFacts | undefined;
  /** An Agent or Route of those asked for has single sign-on. Undefined: the caller may not look. */
  readonly sso: boolean | undefined;
  readonly agents: readonly (ReturnType<typeof toLine> & { readonly namespace: string })[];
}

export async function readClusterStatus(
  cli: Cli,
  cluster: Cluster,
  options: GlobalOptions & { readonly allNamespaces?: true },
): Promise<ClusterStatus> {
  const { client, context, server, namespace } = cluster;
  const where = options.allNamespaces ? {} : { namespace };
  const { items } = await client.list<Agent>(agentResource, where);
  const agents = items.map((agent) => ({ ...toLine(agent), namespace: agent.metadata.namespace ?? '' }));
  const installation = await lookForInstallation(cluster, options);
  const sso = await readSso(client, where, items).catch((error: unknown) => {
    // Without an installation the cluster may not know the kind.
    if (isNotFound(error)) return undefined;
    throw error;
  });
  const common = { context, server, namespace, sso, agents };
  const named = options.router === undefined ? undefined : parseRouterUrl(options.router);
  if (installation === undefined || installation === 'hidden') {
    const up = installation === 'hidden' ? undefined : false;
    return { ...common, up, url: named, home: undefined, programs: undefined };
  }
  const [programs, found] = await Promise.all([
    readPrograms(cluster, installation, cli.clock.now()),
    findPublicUrl(cluster, installation.namespace),
  ]);
  const up = programs.routerPods.ready > 0;
  return { ...common, up, url: named ?? found, home: installation.namespace, programs };
}

/** The lines that stand above the agents, the first of them the title. */
export function describePrograms({
  context,
  server,
  namespace,
  up,
  url,
  home,
  programs,
  sso,
}: ClusterStatus): string[] {
  const title = `${context} (${server}), namespace ${namespace}`;
  if (programs === undefined) {
    return [
      title,
      `- Router: ${up === undefined ? 'not yours to see; name its namespace with --home-namespace' : 'not installed'}`,
    ];
  }
  const { ready, all } = programs.routerPods;
  const where = url === undefined ? 'by port-forward' : `listening ${url}`;
  return [
    title,
    `- Router: ${ready === 0 ? 'not running' : where} (${ready} of ${all} ready in ${home})`,
    `- Controller: ${describeLeader(programs)}`,
    ...ssoLines(sso),
  ];
}

function describeLeader({ leader, controllerPods }: ProgramFacts): string {
  const pods =
    controllerPods === undefined ? '' : ` (${controllerPods.ready} of ${controllerPods.all} ready)`;
  if (leader === undefined) return `not yours to see${pods}`;
  if (leader === null) return `none has led${pods}`;
  return `${leader.alive ? 'led by' : 'not running, last led by'} ${leader.holder}${pods}`;
}
