import type { Command } from 'commander';
import { type Agent, agentResource } from '#api/agent.ts';
import { formatSpan } from '../age.ts';
import type { AgentLine } from '../agent-progress.ts';
import type { Cli, RunningWorkspace, Workspace } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { parseOutputFormat } from '../output.ts';
import type { ObjectOptions } from '../session.ts';
import { formatTable } from '../table.ts';
import { harmless } from '../terminal.ts';
import { toLine } from '../wait-agents.ts';

interface StatusOptions extends ObjectOptions {
  readonly output: string;
}

export function addStatus(program: Command, cli: Cli): void {
  program
    .command('status')
    .description('whether the workspace is up, where it listens, and how its agents are')
    .option('-o, --output <format>', 'table or json', 'table')
    .addHelpText('after', '\nExits with 3 when the workspace is not up.')
    .action(async (_options: unknown, command: Command) => {
      await status(cli, command.optsWithGlobals<StatusOptions>());
    });
}

async function status(cli: Cli, options: StatusOptions): Promise<void> {
  const format = parseOutputFormat(options.output, ['table', 'json']);
  const workspace = await cli.openWorkspace(options.workspace);
  const running = await workspace.running();
  const agents = running === undefined ? [] : await readAgents(workspace, options.namespace);
  const { terminal } = cli;
  if (format === 'json') terminal.print(JSON.stringify(toJson(workspace, running, agents), null, 2));
  else printStatus(cli, workspace, running, agents);
  // Said already; only the exit code is left to give.
  if (running === undefined) throw new CliError(exitCodes.notRunning, '');
}

async function readAgents(workspace: Workspace, namespace: string): Promise<AgentLine[]> {
  const client = workspace.openClient();
  try {
    const { items } = await client.list<Agent>(agentResource, { namespace });
    return items.map(toLine);
  } finally {
    await client.close();
  }
}

function toJson(workspace: Workspace, running: RunningWorkspace | undefined, agents: readonly AgentLine[]) {
  return {
    workspace: workspace.root,
    up: running !== undefined,
    ...(running && {
      url: running.url,
      pid: running.pid,
      startedAt: new Date(running.startedAt).toISOString(),
    }),
    agents: agents.map(({ name, summary, toolCount }) => ({ name, ...summary, toolCount })),
  };
}

/** The lines that begin with a dash are those that scripts written for Ploinky look for. */
function printStatus(
  { terminal, clock }: Cli,
  workspace: Workspace,
  running: RunningWorkspace | undefined,
  agents: readonly AgentLine[],
): void {
  terminal.print(terminal.style('bold', workspace.root));
  if (running === undefined) {
    terminal.print('- Router: not running');
    return;
  }
  const up = formatSpan(clock.now() - running.startedAt);
  terminal.print(`- Router: listening ${running.url} (pid ${running.pid}, up ${up})`);
  terminal.print('- SSO: disabled');
  if (agents.length === 0) {
    terminal.print('- Agents: none');
    return;
  }
  const rows = agents.map(({ name, summary, toolCount }) => [
    `agent: ${name}`,
    terminal.style(summary.stage === 'Ready' ? 'green' : 'yellow', summary.reason),
    toolCount === undefined ? '' : String(toolCount),
    harmless(summary.stage === 'Ready' ? (summary.warning ?? '') : summary.message).split('\n')[0] ?? '',
  ]);
  terminal.print('');
  terminal.print(formatTable(['AGENT', 'STATE', 'TOOLS', 'MESSAGE'], rows));
}
