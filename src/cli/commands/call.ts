import type { Command } from 'commander';
import { type Agent, agentResource } from '#api/agent.ts';
import { isObject } from '#kit/json.ts';
import { orForbidden } from '../cluster/errors.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { createMcpClient } from '../mcp-client.ts';
import { formatData, parseOutputFormat } from '../output.ts';
import type { Router } from '../router.ts';
import { type Session, withRouter } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { harmless } from '../terminal.ts';
import { buildArguments, parseJson } from '../tool-arguments.ts';
import { findTool, type ListedTool, listTools, mcpPath } from '../tool-list.ts';
import { toLine } from '../wait-agents.ts';

interface CallOptions extends GlobalOptions {
  readonly agent?: string;
  readonly param?: readonly string[];
  readonly json?: string;
  readonly output: string;
}

const examples = `
Values become true, false, null and numbers where they are such and the tool does not want a string.
Dots build objects (-p user.name=Ana), [] builds lists (-p tags[]=a -p tags[]=b).

Examples:
  ploinky call greet -p name=Ana
  ploinky call search_files --agent files --json '{"path":".","pattern":"*.md"}'
  echo '{"name":"Ana"}' | ploinky call greet --json -

Exits with 7 when the tool itself answers with an error.`;

export function addCall(program: Command, cli: Cli): void {
  program
    .command('call <tool>')
    .description('call a tool through the router and print what it answers')
    .option('-a, --agent <name>', 'the agent whose tool it is, where several have one of that name')
    .option('-p, --param <key=value>', 'an argument; may be repeated', collect)
    .option('--json <object>', 'all arguments as a JSON object, or - to read it from standard input')
    .option('-o, --output <format>', 'table or wide (text), yaml or json (the whole result)', 'table')
    .addHelpText('after', examples)
    .action(async (tool: string, _options: unknown, command: Command) => {
      await call(cli, tool, command.optsWithGlobals<CallOptions>());
    });
}

async function call(cli: Cli, name: string, options: CallOptions): Promise<void> {
  const format = parseOutputFormat(options.output, ['table', 'wide', 'yaml', 'json']);
  const result = await withRouter(cli, options, (router, session) =>
    callTool(cli, { name, router, session, options }),
  );
  cli.terminal.print(formatData(result, format) ?? contentOf(result));
  if (result['isError'] === true) throw new CliError(exitCodes.toolFailed, '');
}

interface Called {
  readonly name: string;
  readonly router: Router;
  readonly session: Session;
  readonly options: CallOptions;
}

async function callTool(
  cli: Cli,
  { name, router, session, options }: Called,
): Promise<Record<string, unknown>> {
  const client = createMcpClient({
    router,
    version: cli.version,
    signal: cli.interrupted,
    onProgress: (message) => cli.terminal.note(harmless(message)),
  });
  const { agent } = options;
  const listed = await listTools(client, agent);
  const tool = await findTool(listed, { name, agent }, () => agentsNotReady(session));
  return client.call({
    method: 'tools/call',
    params: { name: tool.name, arguments: await readArguments(cli, tool, options) },
    path: mcpPath(router, agent),
  });
}

/** `disk (Starting)`: whose tools may be missing only for the moment. */
async function agentsNotReady({ client, namespace }: Session): Promise<string[]> {
  const list = await orForbidden(client.list<Agent>(agentResource, { namespace }), undefined);
  const away = (list?.items ?? []).map(toLine).filter(({ summary }) => summary.stage !== 'Ready');
  return away.map(({ name, summary }) => `${name} (${summary.reason})`);
}

async function readArguments(
  cli: Cli,
  tool: ListedTool,
  options: CallOptions,
): Promise<Record<string, unknown>> {
  const built = buildArguments(options.param ?? [], tool.inputSchema);
  if (options.json === undefined) return built;
  const given = parseJson(options.json === '-' ? await cli.readStdin() : options.json);
  if (isObject(given)) return { ...given, ...built };
  throw new CliError(exitCodes.usage, '--json must be an object, like {"name":"Ana"}');
}

/** Text as it is; of other content what it is. */
function contentOf(result: Record<string, unknown>): string {
  const content = Array.isArray(result['content']) ? result['content'].filter(isObject) : [];
  return content.map(describeItem).join('\n');
}

function describeItem(item: Record<string, unknown>): string {
  if (typeof item['text'] === 'string') return harmless(item['text']);
  const { resource } = item;
  if (isObject(resource) && typeof resource['text'] === 'string') return harmless(resource['text']);
  const address = item['uri'] ?? (isObject(resource) ? resource['uri'] : undefined);
  const size = typeof item['data'] === 'string' ? `, ${item['data'].length} base64 characters` : '';
  const about = [item['mimeType'], address].filter((part) => typeof part === 'string').join(' ');
  return harmless(`[${String(item['type'])} ${about}${size}]`);
}

function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}
