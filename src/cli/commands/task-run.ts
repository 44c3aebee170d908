import { type Command, Option } from 'commander';
import type { Agent } from '#api/agent.ts';
import { agentResource, taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import { readInput } from '../arguments/read-input.ts';
import { orForbidden } from '../cluster/errors.ts';
import type { Cli } from '../context.ts';
import { outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { type Session, withSession } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { finishTask } from '../task/finish.ts';
import { createTask, repeatOf, specOf } from '../task/make-task.ts';
import { parseCount, parseSeconds } from '../task/numbers.ts';
import { findSchema } from '../task/tool-schema.ts';
import { buildArguments, requireArguments } from '../tool-arguments.ts';

interface MadeOptions extends GlobalOptions {
  readonly output: string;
  readonly detach?: true;
  readonly name?: string;
}

interface RunOptions extends MadeOptions {
  readonly param?: readonly string[];
  readonly input?: string;
  /** Seconds. */
  readonly timeout?: number;
  readonly priority?: string;
  readonly retry?: number;
  readonly isolation?: string;
}

const runHelp = `
Values become what the tool's schema says, as with \`ploinky call\`: dots build objects (user.name=Ana), a list is given
whole (tags='["a","b"]') or item by item (tags=a tags=b). When the agent is not ready its tools are not known: then
what looks like a number, true, false or null is one, and the task waits for the agent.

Examples:
  ploinky task run hello greet name=Ana             waits, with progress, and prints the answer
  ploinky task run reports build year=2026 --detach -o name
  ploinky task run reports build --input job.json --timeout 3600 --retry 2
  cat job.json | ploinky task run reports build --input - --isolation Pod

Ctrl-C ends the wait; the task goes on. Exits with 7 when it did not succeed.`;

const retryHelp = `
The new task has the spec of the old one, which stays. To have failed attempts repeated by themselves:
\`ploinky task run --retry N\`.

Example:
  ploinky task retry greet-x7k2p`;

export function addTaskRun(task: Command, cli: Cli): void {
  task
    .command('run <agent> <tool> [key=value...]')
    .description('run a tool as a task, wait for it and print what it answers')
    .option('-p, --param <key=value>', 'the same as key=value; may be repeated', collect)
    .option(
      '--input <file>',
      'arguments as a JSON file, - (standard input) or a JSON object; key=value adds to them',
    )
    .option('-d, --detach', 'do not wait')
    .option('--timeout <seconds>', 'limit of one attempt (default: that of the tool)', parseSeconds)
    .addOption(
      new Option('--priority <priority>', 'which goes first').choices(['low', 'medium', 'high', 'critical']),
    )
    .option(
      '--retry <times>',
      'attempts after the first when it fails, takes too long or is interrupted',
      parseCount,
    )
    .addOption(
      new Option('--isolation <where>', 'in the running agent, or in a fresh pod or sandbox').choices([
        'Shared',
        'Pod',
      ]),
    )
    .option('--name <name>', 'name of the task (default: the tool’s and some letters)')
    .option('-o, --output <format>', `${outputHelp}; json and yaml show the task`, 'table')
    .addHelpText('after', runHelp)
    .action(async (agent: string, tool: string, pairs: string[], _options: unknown, command: Command) => {
      await run(cli, { agent, tool, pairs }, command.optsWithGlobals<RunOptions>());
    });
}

interface Called {
  readonly agent: string;
  readonly tool: string;
  readonly pairs: readonly string[];
}

async function run(cli: Cli, { agent, tool, pairs }: Called, options: RunOptions): Promise<void> {
  const { output, input, param = [], timeout, priority, retry, isolation, name } = options;
  const format = parseOutputFormat(output, outputFormats);
  const given = await readInput(cli, input);
  await withSession(cli, options, async (session) => {
    await requireAgent(session, agent);
    const schema = await findSchema(cli, options, { agent, tool });
    const args = buildArguments([...pairs, ...param], schema ?? {}, given);
    if (schema !== undefined) requireArguments(args, schema);
    const spec = specOf({
      ...{ agent, tool, input: args, priority, retry, isolation },
      timeoutSeconds: timeout,
    });
    const made = await createTask(session.client, { namespace: session.namespace, name, spec });
    await finishTask(cli, session, made, { ...options, format, detach: options.detach === true });
  });
}

/** A Task may be made before its agent; from a command line the name is more likely wrong. Throws ApiError 404. */
async function requireAgent({ client, namespace }: Session, name: string): Promise<void> {
  await orForbidden<Agent | undefined>(client.get<Agent>(agentResource, { namespace, name }), undefined);
}

export function addTaskRetry(task: Command, cli: Cli): void {
  task
    .command('retry <name>')
    .description('run a task that has ended once more, as a new one')
    .option('-d, --detach', 'do not wait')
    .option('--name <name>', 'name of the new task (default: the tool’s and some letters)')
    .option('-o, --output <format>', `${outputHelp}; json and yaml show the task`, 'table')
    .addHelpText('after', retryHelp)
    .action(async (old: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<MadeOptions>();
      const format = parseOutputFormat(options.output, outputFormats);
      await withSession(cli, options, async (session) => {
        const { client, namespace } = session;
        const before = await client.get<Task>(taskResource, { namespace, name: old });
        const made = await createTask(client, { namespace, name: options.name, ...repeatOf(before) });
        await finishTask(cli, session, made, { ...options, format, detach: options.detach === true });
      });
    });
}

function collect(value: string, previous: readonly string[] = []): string[] {
  return [...previous, value];
}
