import type { Command } from 'commander';
import { cancelAnnotation } from '#api/labels.ts';
import { taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import { fieldManager } from '../apply.ts';
import { printChanged } from '../changed.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { type Session, withSession } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { parseSeconds } from '../task/numbers.ts';
import { isFinished, phaseOf } from '../task/phase.ts';
import { waitForTask } from '../task/wait-task.ts';

interface CancelOptions extends GlobalOptions {
  readonly output: string;
  readonly wait: boolean;
  /** Seconds. */
  readonly timeout: number;
}

const help = `
What runs is ended with all of its processes; the task stays, to be read. To cancel and forget one:
\`ploinky delete task NAME\`. One that has ended already is left as it is.

Examples:
  ploinky task cancel greet-x7k2p
  ploinky task list --phase Queued -o name | sed 's,.*/,,' | xargs ploinky task cancel`;

export function addTaskCancel(task: Command, cli: Cli): void {
  task
    .command('cancel <names...>')
    .description('end tasks that wait or run')
    .option('--no-wait', 'do not wait until they have ended')
    .option('--timeout <seconds>', 'how long to wait', parseSeconds, 60)
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', help)
    .action(async (names: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<CancelOptions>();
      const format = parseOutputFormat(options.output, outputFormats);
      await withSession(cli, options, async (session) => {
        const asked: Task[] = [];
        for (const name of names) asked.push(await cancel(cli, session, name));
        const ended = options.wait ? await waitForEnds(cli, session, asked, options) : asked;
        if (format === 'table' || format === 'wide') {
          for (const each of ended) cli.terminal.print(describe(each));
        } else printChanged(cli, taskResource, ended, { format, word: '' });
      });
    });
}

async function cancel(cli: Cli, { client, namespace }: Session, name: string): Promise<Task> {
  const before = await client.get<Task>(taskResource, { namespace, name });
  if (isFinished(before)) return before;
  if (before.spec.schedule !== undefined) {
    throw new CliError(
      exitCodes.usage,
      `task ${name} has a schedule and does not run itself`,
      'Apply it with spec.suspend: true to stop it; cancel the tasks that it made by their names.',
    );
  }
  const annotations = { [cancelAnnotation]: new Date(cli.clock.now()).toISOString() };
  const patch = { type: 'merge' as const, body: { metadata: { annotations } } };
  return client.patch<Task>(taskResource, { namespace, name }, patch, { fieldManager });
}

/** Throws `timedOut`. */
async function waitForEnds(
  cli: Cli,
  { client, namespace }: Session,
  tasks: readonly Task[],
  { timeout }: CancelOptions,
): Promise<Task[]> {
  const late = new AbortController();
  const cancelDeadline = cli.clock.after(timeout * 1000, () => late.abort());
  const signal = AbortSignal.any([late.signal, cli.interrupted]);
  try {
    const ends = tasks.map(async (task) => {
      const { name } = task.metadata;
      if (isFinished(task)) return task;
      const ended = await waitForTask(cli, client, { namespace, name, signal, onChange: () => undefined });
      cli.interrupted.throwIfAborted();
      if (ended !== undefined) return ended;
      throw new CliError(exitCodes.timedOut, `task ${name} has not ended within ${timeout} s`);
    });
    return await Promise.all(ends);
  } finally {
    late.abort();
    cancelDeadline();
  }
}

function describe(task: Task): string {
  const name = `task.ploinky.dev/${task.metadata.name}`;
  const phase = phaseOf(task);
  if (phase === 'Cancelled') return `${name} cancelled`;
  return isFinished(task) ? `${name} had ended before: ${phase}` : `${name} is to be cancelled`;
}
