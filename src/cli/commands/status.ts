import type { Command } from 'commander';
import type { Agent } from '#api/agent.ts';
import { agentResource } from '#api/resources.ts';
import { formatSpan } from '../age.ts';
import type { AgentLine } from '../agent-progress.ts';
import { headlineOf } from '../agent-summary.ts';
import { type ClusterStatus, describePrograms, readClusterStatus } from '../cluster/status.ts';
import type { Cli, RunningWorkspace, Workspace } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { nameOfObject } from '../kinds.ts';
import { formatData, type OutputFormat, outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { withCluster } from '../session.ts';
import { readSso, ssoLines } from '../sso-line.ts';
import { formatTable } from '../table.ts';
import { type GlobalOptions, targetOf } from '../target.ts';
import { harmless } from '../terminal.ts';
import { toLine } from '../wait-agents.ts';

interface StatusOptions extends GlobalOptions {
  readonly output: string;
  readonly allNamespaces?: true;
}

/** What is shown of a workspace and of a cluster alike. */
interface Shown {
  /** Undefined: unknown. */
  readonly up: boolean | undefined;
  /** A title, then what is to be said of the programs. */
  readonly lines: readonly string[];
  readonly agents: readonly (AgentLine & { readonly namespace?: string })[];
  /** For json and yaml. */
  readonly data: object;
}

export function addStatus(program: Command, cli: Cli): void {
  program
    .command('status')
    .description(
      'whether the workspace is up, or Ploinky in the cluster, where it listens, and how its agents are',
    )
    .option('-o, --output <format>', outputHelp, 'table')
    .option('-A, --all-namespaces', 'the agents of every namespace')
    .addHelpText(
      'after',
      '\nExits with 3 when the workspace is not up, or no router of the cluster is ready.',
    )
    .action(async (_options: unknown, command: Command) => {
      await status(cli, command.optsWithGlobals<StatusOptions>());
    });
}

async function status(cli: Cli, options: StatusOptions): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  const target = targetOf(options, cli.calledAs);
  const shown =
    target.kind === 'workspace'
      ? await showWorkspace(cli, target.folder, options)
      : await withCluster(cli, options, async (cluster) =>
          showCluster(await readClusterStatus(cli, cluster, options)),
        );
  print(cli, shown, { format, namespaces: options.allNamespaces === true });
  // Said already; only the exit code is left to give.
  if (shown.up === false) throw new CliError(exitCodes.notRunning, '');
}

async function showWorkspace(cli: Cli, folder: string, options: StatusOptions): Promise<Shown> {
  const workspace = await cli.openWorkspace(folder);
  const running = await workspace.running();
  const { agents, sso } = running === undefined ? nothing : await readAgents(workspace, options);
  return {
    up: running !== undefined,
    lines: [workspace.root, ...describeRunning(cli, running), ...ssoLines(sso)],
    agents,
    data: {
      workspace: workspace.root,
      up: running !== undefined,
      ...(running && {
        url: running.url,
        pid: running.pid,
        startedAt: new Date(running.startedAt).toISOString(),
        sso,
      }),
      agents: agents.map(agentData),
    },
  };
}

interface Seen {
  readonly agents: readonly AgentLine[];
  readonly sso: boolean | undefined;
}

const nothing: Seen = { agents: [], sso: undefined };

async function readAgents(workspace: Workspace, options: StatusOptions): Promise<Seen> {
  const client = workspace.openClient();
  try {
    const where = options.allNamespaces ? {} : { namespace: options.namespace ?? 'default' };
    const { items } = await client.list<Agent>(agentResource, where);
    const agents = items.map((agent) => ({ ...toLine(agent), namespace: agent.metadata.namespace ?? '' }));
    return { agents, sso: await readSso(client, where, items) };
  } finally {
    await client.close();
  }
}

/** The lines that begin with a dash are those that scripts written for Ploinky look for. */
function describeRunning({ clock }: Cli, running: RunningWorkspace | undefined): string[] {
  if (running === undefined) return ['- Router: not running'];
  const up = formatSpan(clock.now() - running.startedAt);
  return [`- Router: listening ${running.url} (pid ${running.pid}, up ${up})`];
}

function showCluster(status: ClusterStatus): Shown {
  const { up, agents, programs, ...rest } = status;
  const data = { ...rest, up, ...programs, agents: agents.map(agentData) };
  return { up, lines: describePrograms(status), agents, data };
}

function agentData({ name, summary, toolCount, ...rest }: AgentLine) {
  return { name, ...rest, ...summary, toolCount };
}

function print(
  { terminal }: Cli,
  { up, lines, agents, data }: Shown,
  { format, namespaces }: { format: OutputFormat; namespaces: boolean },
): void {
  const text = formatData(data, format);
  if (text !== undefined) terminal.print(text);
  else if (format === 'name') {
    for (const { name } of agents) terminal.print(nameOfObject(agentResource, name));
  } else {
    const [title = '', ...rest] = lines;
    terminal.print(terminal.style('bold', title));
    for (const line of rest) terminal.print(line);
    if (agents.length > 0) {
      terminal.print('');
      terminal.print(formatAgents(agents, { format, namespaces, terminal }));
    } else if (up !== false) terminal.print('- Agents: none');
  }
}

function formatAgents(
  agents: Shown['agents'],
  { format, namespaces, terminal }: { format: OutputFormat; namespaces: boolean; terminal: Cli['terminal'] },
): string {
  const rows = agents.map(({ name, namespace = '', summary, toolCount }) => {
    const message = harmless(summary.stage === 'Ready' ? (summary.warning ?? '') : summary.message);
    return [
      ...(namespaces ? [namespace] : []),
      `agent: ${name}`,
      terminal.style(summary.stage === 'Ready' ? 'green' : 'yellow', summary.reason),
      toolCount === undefined ? '' : String(toolCount),
      format === 'wide' ? message.replaceAll('\n', ' ⏎ ') : headlineOf(message),
    ];
  });
  return formatTable([...(namespaces ? ['NAMESPACE'] : []), 'AGENT', 'STATE', 'TOOLS', 'MESSAGE'], rows);
}
