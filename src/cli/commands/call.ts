import type { Command } from 'commander';
import type { Agent } from '#api/agent.ts';
import { agentResource } from '#api/resources.ts';
import { readInput } from '../arguments/read-input.ts';
import { createCallProgress } from '../call-progress.ts';
import { orForbidden } from '../cluster/errors.ts';
import type { Cli } from '../context.ts';
import { askInTerminal } from '../elicit/ask.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { createMcpClient, type McpClient } from '../mcp-client.ts';
import { formatData, parseOutputFormat } from '../output.ts';
import type { Router } from '../router.ts';
import { type Session, withRouter } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { awaitQueued } from '../task/await-queued.ts';
import { harmless } from '../terminal.ts';
import { buildArguments, requireArguments } from '../tool-arguments.ts';
import { contentOf } from '../tool-content.ts';
import { findTool, type ListedTool, listTools, mcpPath, noTool } from '../tool-list.ts';
import { toLine } from '../wait-agents.ts';

interface CallOptions extends GlobalOptions {
  readonly agent?: string;
  readonly param?: readonly string[];
  readonly input?: string;
  /** The older name of `input`. */
  readonly json?: string;
  readonly verbose?: true;
  readonly wait: boolean;
  readonly output: string;
}

const examples = `
Values become what the tool's schema says: numbers, true, false, null, JSON for objects and lists. Dots build
objects (-p user.name=Ana); a list is given whole (-p 'tags=["a","b"]') or item by item (-p tags=a -p tags=b).

Examples:
  ploinky call greet -p name=Ana
  ploinky call files search_files -p path=. -p pattern='*.md'      the agent, then its tool
  ploinky call greet --input '{"name":"Ana"}'                      also a file, or - for standard input
  ploinky call report -p year=2026 -o json | jq .structuredContent

On a terminal progress is shown on standard error, and what the tool asks is asked: Ctrl-D declines, Ctrl-C cancels.
Ctrl-C while the tool works cancels the call at the server; a tool that is queued (\`async: true\`) goes on.

Exits with 7 when the tool itself answers with an error, with 130 after Ctrl-C.`;

export function addCall(program: Command, cli: Cli): void {
  program
    .command('call <tool> [name]')
    .usage('[options] [agent] <tool>')
    .description('call a tool through the router and print what it answers')
    .option('-a, --agent <name>', 'the agent whose tool it is, where several have one of that name')
    .option('-p, --param <key=value>', 'an argument; may be repeated', collect)
    .option('--input <object>', 'arguments as a JSON object, a file or - (standard input); -p adds to them')
    .option('--json <object>', 'the same as --input')
    .option('--no-wait', 'of a tool that is queued: print the task’s id and not its result')
    .option('-v, --verbose', 'show what the tool logs, on standard error')
    .option('-o, --output <format>', 'table or wide (text), yaml or json (the whole result)', 'table')
    .addHelpText('after', examples)
    .action(async (first: string, second: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<CallOptions>();
      if (second === undefined) return call(cli, first, options);
      if (options.agent !== undefined) {
        throw new CliError(
          exitCodes.usage,
          `the agent is named twice: ${first} and --agent ${options.agent}`,
        );
      }
      return call(cli, second, { ...options, agent: first });
    });
}

async function call(cli: Cli, name: string, options: CallOptions): Promise<void> {
  const format = parseOutputFormat(options.output, ['table', 'wide', 'yaml', 'json']);
  const result = await withRouter(cli, options, (router, session) =>
    callTool(cli, { name, router, session, options }),
  );
  cli.terminal.print(formatData(result, format) ?? contentOf(result));
  if (result['isError'] !== true) return;
  if (cli.prompter === undefined && /elicit/i.test(contentOf(result))) {
    cli.terminal.note('It seems to ask a question. Run this in a terminal to be asked.');
  }
  throw new CliError(exitCodes.toolFailed, '');
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
  const { agent } = options;
  const lister = createMcpClient({ router, version: cli.version, clock: cli.clock, signal: cli.interrupted });
  const given = await readInput(cli, options.input ?? options.json);
  const listed = await listTools(lister, agent).catch(async (error: unknown) => {
    throw awayOf(name, agent, await agentsNotReady(session)) ?? error;
  });
  const tool = await findTool(listed, { name, agent }, () => agentsNotReady(session));
  const args = buildArguments(options.param ?? [], tool.inputSchema, given);
  requireArguments(args, tool.inputSchema);
  const progress = createCallProgress(cli.terminal);
  try {
    const result = await clientFor(cli, { router, tool, options, progress }).call({
      method: 'tools/call',
      params: { name: tool.name, arguments: args },
      path: mcpPath(router, agent),
      inputSchema: tool.inputSchema,
    });
    if (!options.wait) return result;
    return await awaitQueued(cli, { router, namespace: session.namespace, result, progress });
  } finally {
    progress.clear();
  }
}

/** Shows, asks and logs what the tool says while it works. */
function clientFor(
  cli: Cli,
  parts: {
    readonly router: Router;
    readonly tool: ListedTool;
    readonly options: CallOptions;
    readonly progress: ReturnType<typeof createCallProgress>;
  },
): McpClient {
  const { router, tool, options, progress } = parts;
  const { prompter } = cli;
  const asker = harmless(tool.agent ?? tool.name);
  return createMcpClient({
    router,
    version: cli.version,
    clock: cli.clock,
    signal: cli.interrupted,
    ...(options.verbose && { logLevel: 'debug' }),
    listener: {
      onProgress: (params) => progress.show(params),
      onLog: (params) => progress.say(formatLog(params)),
    },
    ...(prompter && {
      answer: (requests) => {
        progress.clear();
        return askInTerminal(prompter, requests, { asker, signal: cli.interrupted });
      },
    }),
  });
}

function formatLog({ level, logger, data }: Record<string, unknown>): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  const source = typeof logger === 'string' ? ` ${logger}:` : '';
  return harmless(`[${String(level)}]${source} ${text}`);
}

/** That the agent alone whose tool was named is not there; undefined when it is, or nobody knows. */
function awayOf(name: string, agent: string | undefined, notReady: readonly string[]): CliError | undefined {
  const its = notReady.filter((line) => line.startsWith(`${agent} (`));
  return its.length === 0 ? undefined : noTool([], name, its);
}

/** `disk (Starting)`: whose tools may be missing only for the moment. */
async function agentsNotReady({ client, namespace }: Session): Promise<string[]> {
  const list = await orForbidden(client.list<Agent>(agentResource, { namespace }), undefined);
  const away = (list?.items ?? []).map(toLine).filter(({ summary }) => summary.stage !== 'Ready');
  return away.map(({ name, summary }) => `${name} (${summary.reason})`);
}

function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}
