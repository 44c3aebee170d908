import { type Command, Option } from 'commander';
import type { KubeObject } from '#api/meta.ts';
import { taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { withSession } from '../session.ts';
import { type ShowRequest, showObjects } from '../show-objects.ts';
import type { GlobalOptions } from '../target.ts';
import { agentOf, allPhases, phaseOf } from '../task/phase.ts';
import { hasResult, readResult } from '../task/result.ts';

interface ShowOptions extends GlobalOptions {
  readonly output: string;
  readonly watch?: true;
}

interface ListOptions extends ShowOptions {
  readonly agent?: string;
  readonly phase?: readonly string[];
  readonly selector?: string;
  readonly allNamespaces?: true;
}

const listHelp = `
Examples:
  ploinky task list
  ploinky task list -a reports --phase Running Queued
  ploinky task list -l ploinky.dev/scheduled-by=nightly
  ploinky task list --all-namespaces --phase Failed -o json --context prod`;

const getHelp = `
\`ploinky describe task NAME\` tells also what happened to it.

Examples:
  ploinky task get greet-x7k2p
  ploinky task get greet-x7k2p --result
  ploinky task get greet-x7k2p -o json | jq -r .status.result.content`;

export function addTaskList(task: Command, cli: Cli): void {
  task
    .command('list')
    .alias('ls')
    .description('show the tasks, the oldest first')
    .option('-a, --agent <name>', 'only of this agent')
    .addOption(new Option('--phase <phases...>', 'only in these phases').choices([...allPhases]))
    .option('-l, --selector <labels>', 'only objects with these labels')
    .option('-A, --all-namespaces', 'of every namespace')
    .option('-w, --watch', 'go on and show each change')
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', listHelp)
    .action(async (_options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ListOptions>();
      const { selector, allNamespaces } = options;
      await show(cli, options, {
        ...{ names: [], selector, allNamespaces: allNamespaces === true },
        wanted: (object) => isWanted(object as Task, options),
        order: byAge,
      });
    });
}

export function addTaskGet(task: Command, cli: Cli): void {
  task
    .command('get <names...>')
    .description('show tasks by name')
    .option('-w, --watch', 'go on and show each change')
    .option('--result', 'print what the tools answered instead')
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', getHelp)
    .action(async (names: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<ShowOptions & { result?: true }>();
      if (options.result === true) await printResults(cli, options, names);
      else await show(cli, options, { names, allNamespaces: false });
    });
}

async function printResults(cli: Cli, options: ShowOptions, names: readonly string[]): Promise<void> {
  await withSession(cli, options, async ({ client, namespace }) => {
    for (const name of names) {
      const task = await client.get<Task>(taskResource, { namespace, name });
      if (!hasResult(task)) {
        throw new CliError(exitCodes.notFound, `task ${name} has no result: it is ${phaseOf(task)}`);
      }
      cli.terminal.print(await readResult(cli, options, task));
    }
  });
}

async function show(
  cli: Cli,
  options: ShowOptions,
  request: Omit<ShowRequest, 'resource' | 'format' | 'watch'>,
): Promise<void> {
  const format = parseOutputFormat(options.output, outputFormats);
  const watch = options.watch === true;
  await withSession(cli, options, (session) =>
    showObjects(cli, session, { ...request, resource: taskResource, format, watch }),
  );
}

function isWanted(task: Task, { agent, phase }: ListOptions): boolean {
  if (agent !== undefined && agentOf(task) !== agent) return false;
  return phase === undefined || phase.includes(phaseOf(task));
}

function byAge(left: KubeObject, right: KubeObject): number {
  const [a = '', b = ''] = [left, right].map(
    ({ metadata }) => `${metadata.creationTimestamp ?? ''} ${metadata.name}`,
  );
  return a < b ? -1 : 1;
}
