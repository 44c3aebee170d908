import type { Command } from 'commander';
import type { Cli } from '../context.ts';
import { createMcpClient } from '../mcp-client.ts';
import { formatData, outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { withRouter } from '../session.ts';
import { formatTable } from '../table.ts';
import type { GlobalOptions } from '../target.ts';
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
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', '\nExample:\n  ploinky tools --agent hello')
    .action(async (_options: unknown, command: Command) => {
      await tools(cli, command.optsWithGlobals<ToolsOptions>());
    });
}

async function tools(cli: Cli, options: ToolsOptions): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  const listed = await withRouter(cli, options, (router) => {
    const client = createMcpClient({ router, version: cli.version, signal: cli.interrupted });
    return listTools(client, options.agent);
  });
  const { terminal } = cli;
  const data = formatData(listed, format);
  if (data !== undefined) {
    terminal.print(data);
    return;
  }
  if (listed.length === 0) {
    terminal.note('No entries found.');
    return;
  }
  if (format === 'name') {
    terminal.print(listed.map(({ name }) => harmless(name)).join('\n'));
    return;
  }
  const rows = listed.map(({ agent = '', name, description }) => {
    const [line = ''] = harmless(description).split('\n');
    return [agent, harmless(name), format === 'wide' || line.length <= 60 ? line : `${line.slice(0, 59)}…`];
  });
  terminal.print(formatTable(['AGENT', 'TOOL', 'DESCRIPTION'], rows));
}
