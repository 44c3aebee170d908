import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildSpec } from '#watchdog/child.ts';
import type { WorkspacePaths } from '#workspace/paths.ts';
import { bundleOf } from './bundle.ts';

export interface ProcessOptions {
  readonly paths: WorkspacePaths;
  readonly port: number;
  /** Where the main files of the processes lie. */
  readonly mainFolder: string;
  /** This process's descriptor of the router's listening socket. */
  readonly listenFd: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** JSON of what the controller looks up besides, which nobody else gets. */
  readonly handed: string;
  /** Further flags of the router. */
  readonly routerFlags?: readonly string[];
}

/** The processes of a workspace in their order of start. Secrets are in none of these command lines. */
export function workspaceProcesses({
  paths,
  port,
  mainFolder,
  listenFd,
  env,
  handed,
  routerFlags = [],
}: ProcessOptions): ChildSpec[] {
  const program = (name: string, flags: readonly string[] = [], passFds: readonly number[] = []) => ({
    command: process.execPath,
    args: [fileOf(name, mainFolder), '--workspace', paths.root, ...flags],
    cwd: paths.root,
    env,
    passFds,
  });
  return [
    {
      name: 'apiserver',
      program: program('apiserver'),
      health: { socketPath: paths.apiSocket, path: '/readyz' },
    },
    { name: 'egress', program: program('egress') },
    {
      name: 'controller',
      program: {
        ...program('controller', ['--router-port', String(port), '--environment', 'stdin']),
        input: `${handed}\n`,
      },
      health: { socketPath: paths.controllerSocket, path: '/healthz' },
    },
    {
      name: 'router',
      // The first descriptor that is passed on is 3 in the router too.
      program: program('router', ['--listen-fd', '3', ...routerFlags], [listenFd]),
      health: { port, path: '/health' },
    },
  ];
}

/** A bundle where there is one, which `ploinky up` saw to be of these sources: it starts in a third of the time. */
function fileOf(name: string, mainFolder: string): string {
  const bundle = join(mainFolder, '../..', bundleOf(name));
  return existsSync(bundle) ? bundle : join(mainFolder, `${name}.ts`);
}
