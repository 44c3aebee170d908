import type { Task } from '#api/task.ts';
import { isObject } from '#kit/json.ts';
import type { Cli } from '../context.ts';
import { withAnyRouter } from '../session.ts';
import type { GlobalOptions } from '../target.ts';
import { harmless } from '../terminal.ts';
import { contentOf } from '../tool-content.ts';
import { placeOf, readLiveTask } from './live-task.ts';

export function hasResult({ status }: Task): boolean {
  const { content, bytes = 0 } = status?.result ?? {};
  return content !== undefined || bytes > 0;
}

/**
 * What the tool answered, for people. One that is too large to be kept with its Task is read from the agent, as long
 * as that has it; empty: there is none.
 */
export async function readResult(cli: Cli, options: GlobalOptions, task: Task): Promise<string> {
  const { content, bytes = 0 } = task.status?.result ?? {};
  if (content !== undefined) return textOf(content);
  if (bytes === 0) return '';
  const large = await readLarge(cli, options, task).catch(() => undefined);
  if (large !== undefined) return contentOf(large);
  return `[${bytes} bytes, too many to be kept with the task; its agent has them no more or cannot be reached]`;
}

async function readLarge(
  cli: Cli,
  options: GlobalOptions,
  task: Task,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const place = placeOf(task);
  if (place === undefined) return undefined;
  const live = await withAnyRouter(cli, options, (router) =>
    readLiveTask(router, { ...place, signal: cli.interrupted }),
  );
  return live?.result;
}

/** JSON text of a tool's result. */
function textOf(content: string): string {
  try {
    const value: unknown = JSON.parse(content);
    return isObject(value) ? contentOf(value) : harmless(content);
  } catch {
    return harmless(content);
  }
}
