import type { Client } from '#kube/client.ts';
import { explainClusterError } from './cluster/errors.ts';
import { findAnyRouter, findRouter } from './cluster/find-router.ts';
import { patient } from './cluster/patient-client.ts';
import type { Cli, Cluster, RunningWorkspace, Workspace } from './context.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { keyFrom } from './not-known.ts';
import type { Router } from './router.ts';
import { type GlobalOptions, targetOf } from './target.ts';

/** Where objects are: the API of a workspace or of a cluster, and the namespace that is meant. */
export interface Session {
  readonly client: Client;
  readonly namespace: string;
}

/** Runs `use` with a client of the API that is meant and closes it. Throws `notRunning`. */
export function withSession<T>(
  cli: Cli,
  options: GlobalOptions,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const target = targetOf(options, cli.calledAs);
  if (target.kind === 'cluster') {
    return withCluster(cli, options, ({ client, namespace }) => use({ client, namespace }));
  }
  return inWorkspace(cli, target.folder, options, use);
}

async function inWorkspace<T>(
  cli: Cli,
  folder: string,
  options: GlobalOptions,
  use: (session: Session) => Promise<T>,
): Promise<T> {
  const workspace = await cli.openWorkspace(folder);
  await requireRunning(workspace);
  const client = workspace.openClient();
  try {
    return await use({ client, namespace: options.namespace ?? 'default' });
  } finally {
    await client.close();
  }
}

/** Runs `use` with what leads to the tools of the namespace that is meant. Throws `notRunning`. */
export function withRouter<T>(
  cli: Cli,
  options: GlobalOptions,
  use: (router: Router, session: Session) => Promise<T>,
): Promise<T> {
  return routed(cli, options, findRouter, use);
}

/** The same with any router, be the namespace served or not: for what none of its tools is needed for. */
export function withAnyRouter<T>(
  cli: Cli,
  options: GlobalOptions,
  use: (router: Router, session: Session) => Promise<T>,
): Promise<T> {
  return routed(cli, options, findAnyRouter, use);
}

function routed<T>(
  cli: Cli,
  options: GlobalOptions,
  find: typeof findRouter,
  use: (router: Router, session: Session) => Promise<T>,
): Promise<T> {
  const key = keyFrom(cli.machine.env['PLOINKY_API_KEY']);
  const target = targetOf(options, cli.calledAs);
  if (target.kind === 'workspace') {
    return withSession(cli, options, async (session) => {
      const workspace = await cli.openWorkspace(target.folder);
      const { url } = await requireRunning(workspace);
      return use({ url, key, relocate: async () => (await workspace.running())?.url }, session);
    });
  }
  return withCluster(cli, options, async (cluster) => {
    const found = await find(cli, cluster, options);
    try {
      return await use({ ...found, key }, cluster);
    } finally {
      await found.close();
    }
  });
}

/** Runs `use` with the cluster that is meant; its `namespace` is the one that is meant, too. */
export async function withCluster<T>(
  cli: Cli,
  options: GlobalOptions,
  use: (cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = await cli.openCluster({ kubeconfig: options.kubeconfig, context: options.context });
  try {
    const client = patient(cluster.client, cli);
    return await use({ ...cluster, client, namespace: options.namespace ?? cluster.namespace });
  } catch (error) {
    throw explainClusterError(error, cluster);
  } finally {
    await cluster.close();
  }
}

export async function requireRunning(workspace: Workspace): Promise<RunningWorkspace> {
  const running = await workspace.running();
  if (running !== undefined) return running;
  throw new CliError(
    exitCodes.notRunning,
    `the workspace in ${workspace.root} is not up`,
    'Start it with `ploinky up`, or name another folder with --workspace, or a cluster with --context.',
  );
}
