import { taskResource } from '#api/resources.ts';
import type { Task } from '#api/task.ts';
import { isObject } from '#kit/json.ts';
import { printChanged } from '../changed.ts';
import type { Cli } from '../context.ts';
import { formatObjectData, type OutputFormat } from '../output.ts';
import type { Session } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { harmless } from '../terminal.ts';
import { contentOf } from '../tool-content.ts';
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
  printEnded(cli, ended, format);
  const failure = failureOf(ended, { told: resultText(ended) !== '' });
  if (failure !== undefined) throw failure;
}

function printEnded({ terminal }: Cli, task: Task, format: OutputFormat): void {
  if (format === 'json' || format === 'yaml') {
    terminal.print(formatObjectData([task], { format, single: true }));
  } else if (format === 'name') terminal.print(`task.ploinky.dev/${task.metadata.name}`);
  else {
    const text = resultText(task);
    if (text !== '') terminal.print(text);
  }
}

/** What the tool answered, for people; empty: nothing, or it is told with the failure. */
export function resultText({ status }: Task): string {
  const { content, blob, bytes } = status?.result ?? {};
  if (content === undefined) return blob === undefined ? '' : `[${bytes ?? '?'} bytes at ${harmless(blob)}]`;
  try {
    const value: unknown = JSON.parse(content);
    return isObject(value) ? contentOf(value) : harmless(content);
  } catch {
    return harmless(content);
  }
}
