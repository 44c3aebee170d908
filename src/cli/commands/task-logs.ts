import type { Command } from 'commander';
import { taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { withAnyRouter } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { followLog, showLog } from '../task/logs.ts';
import { isFinished, phaseOf } from '../task/phase.ts';

interface LogOptions extends GlobalOptions {
  readonly follow?: true;
}

const help = `
The log is what the tool writes to standard output and standard error, and what it says on descriptor 3; of a long one
its end is kept (taskLogTailBytes of the agent, 128 KiB by default). It is read live from the agent, through the router,
which keeps it for a while after the task has ended; that of one with isolation: Pod ends with its pod.

Examples:
  ploinky task logs greet-x7k2p
  ploinky task logs greet-x7k2p -f      until the task ends, over all of its attempts

Exits with 4 when there is no log, with 0 whatever became of the task.`;

export function addTaskLogs(task: Command, cli: Cli): void {
  task
    .command('logs <name>')
    .description('show what a task writes')
    .option('-f, --follow', 'go on until the task has ended')
    .addHelpText('after', help)
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<LogOptions>();
      await withAnyRouter(cli, options, async (router, { client, namespace }) => {
        const found = await client.get<Task>(taskResource, { namespace, name });
        const follow = options.follow === true && !isFinished(found);
        const shown = follow
          ? await followLog(cli, { router, client, task: found })
          : await showLog(cli, router, found);
        if (!shown) throw noLog(found);
      });
    });
}

function noLog(task: Task): CliError {
  const { name } = task.metadata;
  const phase = phaseOf(task);
  if (task.status?.agent === undefined || phase === 'Pending' || phase === 'Queued') {
    const remedy = isFinished(task) ? undefined : `\`ploinky task logs ${name} -f\` waits for it.`;
    return new CliError(exitCodes.notFound, `task ${name} has not run: it is ${phase}`, remedy);
  }
  return new CliError(
    exitCodes.notFound,
    `the agent ${task.status.agent} does not have the log of task ${name} (${phase})`,
    'It is away, or keeps it no more; the result is in `ploinky task get NAME -o yaml`.',
  );
}
