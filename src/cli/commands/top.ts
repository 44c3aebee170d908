import type { Command } from 'commander';
import { messageOf } from '#kit/errors.ts';
import type { Cli } from '../context.ts';
import { formatData, type OutputFormat, parseOutputFormat } from '../output.ts';
import { withRouter } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { drawAgain, formatTop } from '../task/format-top.ts';
import { type AgentQueues, readQueues } from '../task/queues.ts';
import { harmless } from '../terminal.ts';

interface TopOptions extends GlobalOptions {
  readonly agent?: string;
  readonly once?: true;
  readonly output: string;
}

const help = `
PENDING wait, ASKING wait for an answer of somebody. DONE, FAILED and CANCELLED count the tasks that have ended and are
still remembered. WAIT is the time since the oldest that waits was taken, RUN how long the one runs that runs longest.

Read live through the router, every second. On a terminal the table is drawn again until Ctrl-C; elsewhere, and with
--once, it is printed once. These are the agents of the namespace that is meant, on a cluster as far as a Route serves
them; of one that was not named and has none, all that are served are shown.

Examples:
  ploinky top
  ploinky top -a reports --once
  ploinky top -o json | jq '.agents[] | {agent, pending: .queue.pending}'`;

/** Milliseconds between two looks. */
const lookMs = 1_000;

export function addTop(program: Command, cli: Cli): void {
  program
    .command('top')
    .description('show queues and running tasks of agents, live')
    .option('-a, --agent <name>', 'only of this agent')
    .option('--once', 'print it once')
    .option('-o, --output <format>', 'table, yaml or json (both once)', 'table')
    .addHelpText('after', help)
    .action(async (_options: unknown, command: Command) => {
      await top(cli, command.optsWithGlobals<TopOptions>());
    });
}

async function top(cli: Cli, options: TopOptions): Promise<void> {
  const format = parseOutputFormat(options.output, ['table', 'yaml', 'json']);
  await withRouter(cli, options, async (router, { namespace }) => {
    const read = async () => onlyOf(await readQueues(router, cli.interrupted), namespace, options);
    if (options.once !== true && format === 'table' && cli.terminal.interactive) await live(cli, read);
    else print(cli, await read(), format);
  });
}

/** Those of the namespace; where it was not named and has none, what is served instead. */
function onlyOf(queues: AgentQueues, meant: string, { agent, namespace }: TopOptions): AgentQueues {
  const wanted = queues.agents.filter((each) => agent === undefined || each.agent === agent);
  const own = wanted.filter((each) => each.namespace === meant);
  return { ...queues, agents: own.length === 0 && namespace === undefined ? wanted : own };
}

function print({ terminal }: Cli, queues: AgentQueues, format: OutputFormat): void {
  terminal.print(formatData(queues, format) ?? formatTop(queues).join('\n'));
}

/** Draws over what it drew before. A router that is away for a moment leaves the last picture, with a word of it. */
async function live(cli: Cli, read: () => Promise<AgentQueues>): Promise<void> {
  const { terminal, clock, interrupted } = cli;
  let lines = formatTop(await read());
  let drawn = 0;
  while (!interrupted.aborted) {
    drawn = drawAgain(terminal, lines, drawn);
    await clock.sleep(lookMs, interrupted).catch(() => undefined);
    if (interrupted.aborted) return;
    lines = await read().then(formatTop, (error: unknown) => [
      ...lines.filter((line) => !isTrouble(line)),
      troubleOf(error),
    ]);
  }
}

const trouble = 'No answer now: ';

function isTrouble(line: string): boolean {
  return line.startsWith(trouble);
}

function troubleOf(error: unknown): string {
  return harmless(`${trouble}${messageOf(error)}`).replaceAll('\n', ' ');
}
