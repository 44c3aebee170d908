import type { Client } from '#kube/client.ts';
import type { Cli, RunningWorkspace, Workspace } from './context.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';

/** Options that every command has. */
export interface GlobalOptions {
  readonly workspace: string;
}

/** Options of commands that speak of objects. */
export interface ObjectOptions extends GlobalOptions {
  readonly namespace: string;
}

/** Runs `use` with a client of the workspace's API and closes it. Throws `notRunning`. */
export async function withClient<T>(
  cli: Cli,
  options: GlobalOptions,
  use: (client: Client, workspace: Workspace, running: RunningWorkspace) => Promise<T>,
): Promise<T> {
  const workspace = await cli.openWorkspace(options.workspace);
  const running = await requireRunning(workspace);
  const client = workspace.openClient();
  try {
    return await use(client, workspace, running);
  } finally {
    await client.close();
  }
}

export async function requireRunning(workspace: Workspace): Promise<RunningWorkspace> {
  const running = await workspace.running();
  if (running !== undefined) return running;
  throw new CliError(
    exitCodes.notRunning,
    `the workspace in ${workspace.root} is not up`,
    'Start it with `ploinky up`, or name another folder with --workspace.',
  );
}
