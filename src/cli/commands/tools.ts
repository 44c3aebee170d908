import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { createMcpClient } from '../mcp-client.ts';
import { parseOutputFormat } from '../output.ts';
import { type GlobalOptions, requireRunning } from '../session.ts';
import { formatTable } from '../table.ts';
import { harmless } from '../terminal.ts';
import { listTools } from '../tool-list.ts';

interface ToolsOptions extends GlobalOptions {
  readonly agent?: string;
  readonly output: string;
}

export function addTools(program: Command, cli: Cli): void {
  program
    .command('tools')
    .description('list the tools of all agents, as an MCP client sees them')
    .option('-a, --agent <name>', 'only of this agent')
    .option('-o, --output <format>', 'table, wide (whole descriptions) or json', 'table')
    .addHelpText('after', '\nExample:\n  ploinky tools --agent hello')
    .action(async (_options: unknown, command: Command) => {
      await tools(cli, command.optsWithGlobals<ToolsOptions>());
    });
}

async function tools(cli: Cli, options: ToolsOptions): Promise<void> {
  const format = parseOutputFormat(options.output, ['table', 'wide', 'json']);
  const { url } = await requireRunning(await cli.openWorkspace(options.workspace));
  const client = createMcpClient({ url, version: cli.version, signal: cli.interrupted });
  const listed = await listTools(client, options.agent);
  const { terminal } = cli;
  if (format === 'json') {
    terminal.print(JSON.stringify(listed, null, 2));
    return;
  }
  if (listed.length === 0) {
    terminal.note('No entries found.');
    return;
  }
  const rows = listed.map(({ agent = '', name, description }) => {
    const [line = ''] = harmless(description).split('\n');
    return [agent, name, format === 'wide' || line.length <= 60 ? line : `${line.slice(0, 59)}…`];
  });
  terminal.print(formatTable(['AGENT', 'TOOL', 'DESCRIPTION'], rows));
}
