import { join } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { agentResource } from '#api/resources.ts';
import { clusterLogs } from '../cluster/logs.ts';
import type { Cli, Workspace } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { withCluster } from '../session.ts';
import { tailFile } from '../tail-file.ts';
import { type GlobalOptions, targetOf } from '../target.ts';
import { harmless } from '../terminal.ts';

interface LogOptions extends GlobalOptions {
  readonly follow?: true;
  readonly tail: number;
  readonly process?: string;
  readonly container?: string;
  readonly previous?: true;
  readonly timestamps?: true;
}

const processes = ['router', 'controller', 'apiserver', 'egress', 'watchdog'];
const examples = `
Examples:
  ploinky logs hello             what the agent, its servers and its install step wrote
  ploinky logs hello -f          and what they go on to write
  ploinky logs --process egress  which hosts agents were let to and refused
  ploinky logs --process router  each request of a client
  ploinky logs hello -p --context prod   what containers wrote before they were started again

On a cluster the containers of all replicas are shown together; apiserver and watchdog are a workspace's alone, and
so are --container, --previous and --timestamps a cluster's.

What a tool writes to standard error is in its answer.`;

export function addLogs(program: Command, cli: Cli): void {
  program
    .command('logs [agent]')
    .description('show the end of an agent’s log, or of one of Ploinky’s own processes')
    .option('-f, --follow', 'go on until Ctrl-C')
    .option('--tail <lines>', 'how many lines from the end', parseLines, 200)
    .addOption(new Option('--process <name>', 'of a process instead of an agent').choices(processes))
    .option('-c, --container <name>', 'on a cluster: only of this container')
    .option('-p, --previous', 'on a cluster: of the containers before their last restart')
    .option('--timestamps', 'on a cluster: with the time of each line')
    .addHelpText('after', examples)
    .action(async (agent: string | undefined, _options: unknown, command: Command) => {
      await logs(cli, agent, command.optsWithGlobals<LogOptions>());
    });
}

async function logs(cli: Cli, agent: string | undefined, options: LogOptions): Promise<void> {
  checkAgent(agent, options);
  const target = targetOf(options, cli.calledAs);
  if (target.kind === 'workspace') return workspaceLogs(cli, target.folder, agent, options);
  const { process, container, tail } = options;
  await withCluster(cli, options, (cluster) =>
    clusterLogs(cli, cluster, {
      ...{ agent, process, container, tail },
      ...(options.homeNamespace !== undefined && { homeNamespace: options.homeNamespace }),
      follow: options.follow === true,
      previous: options.previous === true,
      timestamps: options.timestamps === true,
    }),
  );
}

function checkAgent(agent: string | undefined, options: LogOptions): void {
  if (options.process !== undefined) return;
  if (agent === undefined) throw new CliError(exitCodes.usage, 'name an agent, or a process with --process');
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(agent)) {
    throw new CliError(exitCodes.usage, `"${agent}" is not the name of an agent`);
  }
}

async function workspaceLogs(
  cli: Cli,
  folder: string,
  agent: string | undefined,
  options: LogOptions,
): Promise<void> {
  for (const name of ['container', 'previous', 'timestamps'] as const) {
    if (options[name] === undefined) continue;
    throw new CliError(
      exitCodes.usage,
      `--${name} is for clusters`,
      'A workspace has one log an agent, which goes on over restarts.',
    );
  }
  const workspace = await cli.openWorkspace(folder);
  const path = await findLog(workspace, agent ?? '', options);
  const pieces = tailFile(path, {
    lines: options.tail,
    follow: options.follow === true,
    clock: cli.clock,
    signal: cli.interrupted,
  });
  for await (const piece of pieces) cli.terminal.write(harmless(piece));
}

async function findLog(workspace: Workspace, agent: string, options: LogOptions): Promise<string> {
  if (options.process !== undefined) return join(workspace.logs, `${options.process}.log`);
  await requireAgent(workspace, agent, options.namespace ?? 'default');
  return workspace.agentLog(agent);
}

/** Without this an unknown name would look like an agent that is silent. Not asked when the workspace is down. */
async function requireAgent(workspace: Workspace, name: string, namespace: string): Promise<void> {
  if ((await workspace.running()) === undefined) return;
  const client = workspace.openClient();
  try {
    await client.get(agentResource, { namespace, name });
  } finally {
    await client.close();
  }
}

function parseLines(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
