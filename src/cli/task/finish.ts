import { taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import { printChanged } from '../changed.ts';
import type { Cli } from '../context.ts';
import { nameOfObject } from '../kinds.ts';
import { formatObjectData, type OutputFormat } from '../output.ts';
import type { Session } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { hasResult, readResult } from './result.ts';
import { failureOf, waitForTask } from './wait-task.ts';
import { showTaskProgress } from './watch-progress.ts';

export interface Finish {
  readonly format: OutputFormat;
  /** Only say that it was made. */
  readonly detach: boolean;
}

/**
 * Follows a Task that was just made to its end and prints what came out. Throws `toolFailed` for another end than
 * success. Ctrl-C ends the wait and not the Task.
 */
export async function finishTask(
  cli: Cli,
  { client }: Session,
  task: Task,
  { format, detach, ...options }: Finish & GlobalOptions,
): Promise<void> {
  const { name, namespace = 'default' } = task.metadata;
  if (detach) {
    printChanged(cli, taskResource, [task], { format, word: 'created' });
    return;
  }
  if (format === 'table' || format === 'wide') cli.terminal.note(`task ${name} created`);
  const progress = showTaskProgress(cli, options, { count: 1 });
  const ended = await waitForTask(cli, client, {
    ...{ namespace, name, signal: cli.interrupted },
    onChange: progress.update,
  }).finally(progress.end);
  if (ended === undefined) {
    cli.terminal.note(
      `Task ${name} goes on: \`ploinky task wait ${name}\` waits, \`ploinky task cancel ${name}\` ends it.`,
    );
    cli.interrupted.throwIfAborted();
    return;
  }
  await printEnded(cli, { ...options, format, detach }, ended);
  const failure = failureOf(ended, { told: hasResult(ended) });
  if (failure !== undefined) throw failure;
}

async function printEnded(cli: Cli, options: Finish & GlobalOptions, task: Task): Promise<void> {
  const { terminal } = cli;
  if (options.format === 'json' || options.format === 'yaml') {
    terminal.print(formatObjectData([task], { format: options.format, single: true }));
  } else if (options.format === 'name') terminal.print(nameOfObject(taskResource, task.metadata.name));
  else {
    const text = await readResult(cli, options, task);
    if (text !== '') terminal.print(text);
  }
}
