import { once } from 'node:events';
import { type Command, InvalidArgumentError } from 'commander';
import { runBridge } from '../bridge/bridge.ts';
import { createLink } from '../bridge/link.ts';
import type { Cli } from '../context.ts';
import { findEndpoint } from '../endpoint.ts';
import { withRouter } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { harmless } from '../terminal.ts';

interface McpOptions extends GlobalOptions {
  readonly agent?: string;
  readonly route?: string;
  /** Seconds. */
  readonly connectTimeout: number;
  readonly drain: number;
  /** Bytes. */
  readonly maxMessage: number;
}

const examples = `
For clients that start a program and speak MCP with it on standard input and output. Everything passes: both
revisions of the protocol, questions of the server, progress, cancelling, notices of changed lists. It ends when its
standard input ends. Standard output carries the protocol alone; what is to be told is on standard error.

\`ploinky connect CLIENT --stdio\` writes the configuration for a client.

Examples:
  ploinky mcp                                          all agents of the workspace in the present folder
  ploinky mcp --agent files -C ~/project               one agent of another workspace
  ploinky mcp --context prod -n team --route tools     a Route of a cluster, by port-forward where need be`;

export function addMcp(program: Command, cli: Cli): void {
  program
    .command('mcp')
    .description('speak MCP on standard input and output, for clients that start their servers')
    .option('-a, --agent <name>', 'only the tools of this agent')
    .option('--route <name>', 'what this Route serves')
    .option('--connect-timeout <seconds>', 'how long a router that is away is waited for', parseSeconds, 10)
    .option('--drain <seconds>', 'how long calls may take once standard input has ended', parseSeconds, 2)
    .option('--max-message <bytes>', 'size of the largest message', parseBytes, 16 * 1024 * 1024)
    .addHelpText('after', examples)
    .action(async (_options: unknown, command: Command) => {
      await mcp(cli, command.optsWithGlobals<McpOptions>());
    });
}

async function mcp(cli: Cli, options: McpOptions): Promise<void> {
  const { input, output } = cli.streams;
  const { clock } = cli;
  await withRouter(cli, options, async (found, session) => {
    const { router, path } = await findEndpoint(found, session, options);
    await runBridge({
      link: createLink({ router, path, clock, connectTimeoutMs: options.connectTimeout * 1000 }),
      clock,
      input,
      send: (line) => void output.write(`${line}\n`),
      drained: async () => {
        if (output.writableNeedDrain) await once(output, 'drain');
      },
      note: (text) => cli.terminal.note(`ploinky mcp: ${harmless(text)}`),
      signal: cli.interrupted,
      maxMessageBytes: options.maxMessage,
      drainMs: options.drain * 1000,
    });
  });
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds >= 0) return seconds;
  throw new InvalidArgumentError('It must be a number of seconds.');
}

function parseBytes(text: string): number {
  const bytes = Number(text);
  if (Number.isSafeInteger(bytes) && bytes >= 1024) return bytes;
  throw new InvalidArgumentError('It must be a number of bytes, at least 1024.');
}
