import type { Command } from 'commander';
import { taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { formatResult, outputFormats, outputHelp, parseOutputFormat } from '../output.ts';
import { type Session, withSession } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { parseSeconds } from '../task/numbers.ts';
import { failureOf, waitForTask } from '../task/wait-task.ts';
import { showTaskProgress } from '../task/watch-progress.ts';

interface WaitOptions extends GlobalOptions {
  readonly output: string;
  /** Seconds. */
  readonly timeout?: number;
}

const help = `
Examples:
  ploinky task wait greet-x7k2p
  ploinky task wait one two three --timeout 600
  ploinky task wait greet-x7k2p -o json | jq -r .status.result.content

Exits with 0 when all succeeded, with 7 when one did not, with 6 when the time was over first, with 4 when one is
gone.`;

export function addTaskWait(task: Command, cli: Cli): void {
  task
    .command('wait <names...>')
    .description('wait until tasks have ended')
    .option('--timeout <seconds>', 'how long to wait (default: for ever)', parseSeconds)
    .option('-o, --output <format>', outputHelp, 'table')
    .addHelpText('after', help)
    .action(async (names: string[], _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<WaitOptions>();
      const format = parseOutputFormat(options.output, outputFormats);
      await withSession(cli, options, async (session) => {
        const tasks = await waitForAll(cli, session, names, options);
        const { terminal, clock } = cli;
        const how = { format, single: names.length === 1, now: clock.now(), namespaces: false };
        terminal.print(formatResult(taskResource, tasks, how));
        const failures = tasks.flatMap((each) => failureOf(each, { told: false }) ?? []);
        if (failures.length === 0) return;
        const lines = failures.map(({ message }) => message);
        throw new CliError(exitCodes.toolFailed, lines.join('\n  '));
      });
    });
}

/** Throws `timedOut`. */
async function waitForAll(
  cli: Cli,
  { client, namespace }: Session,
  names: readonly string[],
  options: WaitOptions,
): Promise<Task[]> {
  const { timeout } = options;
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, cli.interrupted]);
  const cancelDeadline =
    timeout === undefined ? () => {} : cli.clock.after(timeout * 1000, () => stop.abort());
  const progress = showTaskProgress(cli, options, { count: names.length });
  try {
    const waits = names.map((name) =>
      waitForTask(cli, client, { namespace, name, signal, onChange: progress.update }),
    );
    const tasks = (await Promise.all(waits)).filter((each) => each !== undefined);
    cli.interrupted.throwIfAborted();
    if (tasks.length === names.length) return tasks;
    throw lateOnes(names, tasks, timeout ?? 0);
  } finally {
    stop.abort();
    cancelDeadline();
    await progress.end();
  }
}

function lateOnes(names: readonly string[], tasks: readonly Task[], timeout: number): CliError {
  const ended = new Set(tasks.map(({ metadata }) => metadata.name));
  const late = names.filter((name) => !ended.has(name));
  return new CliError(
    exitCodes.timedOut,
    `not ended within ${timeout} s: ${late.join(', ')}`,
    'They go on; `ploinky describe task NAME` tells what they wait for.',
  );
}
