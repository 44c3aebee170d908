import { resolve } from 'node:path';
import type { Cli } from '../context.ts';
import { findEndpoint, urlOf, type Wanted } from '../endpoint.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { type Session, withRouter } from '../session.ts';
import { type GlobalOptions, targetOf } from '../target.ts';
import type { Server } from './server.ts';

export interface Found {
  readonly server: Server;
  /** What the person should know of it. */
  readonly notes: readonly string[];
}

/** What a client is to be told: where the endpoint is, or how to start the bridge to it. Throws `notRunning`. */
export function findServer(cli: Cli, options: GlobalOptions & Wanted, kind: Server['kind']): Promise<Found> {
  return withRouter(cli, options, async (router, session) => {
    const endpoint = await findEndpoint(router, session, options);
    if (kind === 'stdio') return bridgeTo(cli, options, session);
    if (router.isForwarded) throw notExposed();
    const server = { kind, url: urlOf(endpoint) } as const;
    return { server, notes: notesOnUrl(server.url, targetOf(options, cli.calledAs).kind) };
  });
}

function notExposed(): CliError {
  return new CliError(
    exitCodes.failed,
    'the cluster’s router is reached by port-forward only, so it has no address to tell a client',
    'Use --stdio: the client then starts `ploinky mcp`, which forwards by itself. Or expose the router (an Ingress, ' +
      'or the chart’s router.publicUrl), or name its address with --router.',
  );
}

function notesOnUrl(url: string, target: 'workspace' | 'cluster'): string[] {
  if (target === 'cluster') return [];
  const { port } = new URL(url);
  return [
    `The address holds as long as the workspace has port ${port}: start it with \`ploinky up --port ${port}\`, or use --stdio, which finds it wherever it is.`,
  ];
}

async function bridgeTo(cli: Cli, options: GlobalOptions & Wanted, session: Session): Promise<Found> {
  const [command = '', ...before] = cli.program;
  const { agent, route } = options;
  const wanted = [
    ...(agent === undefined ? [] : ['--agent', agent]),
    ...(route === undefined ? [] : ['--route', route]),
  ];
  const target = targetOf(options, cli.calledAs);
  const where =
    target.kind === 'workspace'
      ? [
          ...['--workspace', (await cli.openWorkspace(target.folder)).root],
          ...(options.namespace === undefined ? [] : ['--namespace', options.namespace]),
        ]
      : await clusterFlags(cli, options, session);
  const args = [...before, 'mcp', ...where, ...wanted];
  return { server: { kind: 'stdio', command, args, env: environmentOf(cli) }, notes: [] };
}

/** The cluster of now: another context may be the current one by the time that a client starts the bridge. */
async function clusterFlags(cli: Cli, options: GlobalOptions, session: Session): Promise<string[]> {
  const { machine } = cli;
  const cluster = await cli.openCluster({ kubeconfig: options.kubeconfig, context: options.context });
  await cluster.close();
  const file = options.kubeconfig ?? machine.env['KUBECONFIG'];
  // Several files, joined by colons, are the environment's alone.
  const named =
    file === undefined || file === '' || file.includes(':') ? undefined : resolve(machine.folder, file);
  return [
    ...(named === undefined ? [] : ['--kubeconfig', named]),
    ...['--context', cluster.context, '--namespace', session.namespace],
    ...(options.homeNamespace === undefined ? [] : ['--home-namespace', options.homeNamespace]),
    ...(options.router === undefined ? [] : ['--router', options.router]),
  ];
}

/** What decides where a workspace has its sockets; clients pass on little of their own environment. */
function environmentOf({ machine }: Cli): Record<string, string> {
  const names = [
    'XDG_RUNTIME_DIR',
    'TMPDIR',
    ...(machine.env['KUBECONFIG']?.includes(':') ? ['KUBECONFIG'] : []),
  ];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = machine.env[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}
