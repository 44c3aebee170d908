import type { Command } from 'commander';
import { propertiesOf } from '../arguments/schema.ts';
import type { Cli } from '../context.ts';
import { createMcpClient } from '../mcp-client.ts';
import { formatData, outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { withRouter } from '../session.ts';
import { formatTable } from '../table.ts';
import type { GlobalOptions } from '../target.ts';
import { harmless } from '../terminal.ts';
import { type ListedTool, listTools } from '../tool-list.ts';

interface ToolsOptions extends GlobalOptions {
  readonly agent?: string;
  readonly output: string;
}

const examples = `
With -o wide each tool's parameters are shown, with a star behind those that it cannot do without; json and yaml have
the whole schemas.

Examples:
  ploinky tools
  ploinky tools hello -o wide
  ploinky tools -o json | jq -r '.[].name'`;

export function addTools(program: Command, cli: Cli): void {
  program
    .command('tools [agent]')
    .description('list the tools of all agents, or of one, as an MCP client sees them')
    .option('-a, --agent <name>', 'the same as to name the agent')
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', examples)
    .action(async (agent: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ToolsOptions>();
      await tools(cli, agent === undefined ? options : { ...options, agent });
    });
}

async function tools(cli: Cli, options: ToolsOptions): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  const listed = await withRouter(cli, options, (router) => {
    const client = createMcpClient({
      router,
      version: cli.version,
      clock: cli.clock,
      signal: cli.interrupted,
    });
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
  terminal.print(format === 'wide' ? formatWide(listed) : formatShort(listed));
}

function formatShort(tools: readonly ListedTool[]): string {
  const rows = tools.map(({ agent = '', name, description }) => {
    const line = firstLine(description);
    return [agent, harmless(name), line.length <= 60 ? line : `${line.slice(0, 59)}…`];
  });
  return formatTable(['AGENT', 'TOOL', 'DESCRIPTION'], rows);
}

function formatWide(tools: readonly ListedTool[]): string {
  const rows = tools.map(({ agent = '', name, description, inputSchema }) => {
    return [agent, harmless(name), parametersOf(inputSchema), firstLine(description)];
  });
  return formatTable(['AGENT', 'TOOL', 'PARAMETERS', 'DESCRIPTION'], rows);
}

function parametersOf(schema: Record<string, unknown>): string {
  const { required } = schema;
  const needed = Array.isArray(required) ? required : [];
  const names = Object.keys(propertiesOf(schema)).map((name) => (needed.includes(name) ? `${name}*` : name));
  return harmless(names.join(' '));
}

function firstLine(text: string): string {
  return harmless(text).split('\n')[0] ?? '';
}
