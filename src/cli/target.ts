import type { Cli, ClusterRequest } from './context.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

/** Options that every command has. Undefined: not given. */
export interface GlobalOptions {
  readonly workspace?: string;
  readonly namespace?: string;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly cluster?: true;
  readonly homeNamespace?: string;
  readonly router?: string;
}

/** What a command line speaks of. */
export type Target =
  | { readonly kind: 'workspace'; readonly folder: string }
  | { readonly kind: 'cluster'; readonly request: ClusterRequest };

export const targetHelp = `Workspace or cluster:
  The workspace in the present folder is meant, or the one of --workspace. A cluster is meant with --context,
  --kubeconfig or --cluster: the context that is named, else the file's current one; the file of --kubeconfig, else
  $KUBECONFIG, else ~/.kube/config. The namespace is that of --namespace, else the context's, else "default".
  As \`kubectl ploinky\` the current context is meant unless --workspace is given.
  On a cluster the router is reached at --router, else at the URL that its Service's annotation
  ploinky.dev/public-url or its Ingress names, else by port-forward to one of its pods.`;

/** Decides between workspace and cluster. Throws `usage` when the command line asks for both. */
export function targetOf(options: GlobalOptions, calledAs: Cli['calledAs']): Target {
  const asked = clusterFlags.filter((name) => options[name] !== undefined);
  if (options.workspace !== undefined) {
    if (asked.length === 0) return { kind: 'workspace', folder: options.workspace };
    throw new CliError(
      exitCodes.usage,
      `--workspace and ${asked.map(flagOf).join(', ')} exclude each other`,
      'Name a folder of this machine, or a context of a kubeconfig.',
    );
  }
  if (asked.length > 0 || calledAs === 'kubectl ploinky')
    return { kind: 'cluster', request: requestOf(options) };
  return { kind: 'workspace', folder: '.' };
}

const clusterFlags = ['context', 'kubeconfig', 'cluster', 'homeNamespace', 'router'] as const;

function flagOf(name: (typeof clusterFlags)[number]): string {
  return `--${name === 'homeNamespace' ? 'home-namespace' : name}`;
}

export function requestOf({ kubeconfig, context }: GlobalOptions): ClusterRequest {
  return { kubeconfig, context };
}

/** The folder of a command that only a workspace has. Throws `usage` when a cluster was named. */
export function requireWorkspace(verb: string, options: GlobalOptions, remedy: string): string {
  // As a plugin of kubectl, too: without a named cluster nothing else can be meant.
  const target = targetOf(options, 'ploinky');
  if (target.kind === 'workspace') return target.folder;
  throw new CliError(exitCodes.usage, `\`${verb}\` is for the workspaces of this machine`, remedy);
}

/** The cluster of a command that only a cluster has: the current one when none is named. Throws `usage`. */
export function requireCluster(verb: string, options: GlobalOptions): ClusterRequest {
  const target = targetOf(options, 'kubectl ploinky');
  if (target.kind === 'cluster') return target.request;
  throw new CliError(
    exitCodes.usage,
    `\`${verb}\` is for clusters`,
    'Name one with --context or --kubeconfig; a workspace is started with `ploinky up`.',
  );
}
