import { isObject } from '#kit/json.ts';
import type { CallProgress } from '../call-progress.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Router } from '../router.ts';
import { type LiveTask, readTaskAt } from './live-task.ts';
import { lookMs, mostMissed, readPatiently } from './read-patiently.ts';

export interface QueuedCall {
  readonly router: Router;
  readonly namespace: string;
  /** What the tool's call was answered with. */
  readonly result: Readonly<Record<string, unknown>>;
  readonly progress: CallProgress;
}

/**
 * A call of an `async` tool is answered with the id of a task (Ploinky contract, §4): waits for the task and returns
 * its result in place of that answer. Any other result comes back as it is. Throws `failed` when the task is lost and
 * `notRunning` when the router is; before it throws, it says which task that was.
 */
export async function awaitQueued(
  { clock, interrupted, terminal }: Pick<Cli, 'clock' | 'interrupted' | 'terminal'>,
  { router, namespace, result, progress }: QueuedCall,
): Promise<Record<string, unknown>> {
  const metadata = isObject(result['metadata']) ? result['metadata'] : {};
  const { taskId, agent } = metadata;
  if (typeof taskId !== 'string' || typeof agent !== 'string') return { ...result };
  const path = pathOf(router, { namespace, agent, taskId });
  let missed = 0;
  try {
    for (;;) {
      const task = await readPatiently({
        ...{ clock, router, signal: interrupted },
        read: (at) => readTaskAt(at, path, interrupted),
      });
      missed = task === undefined ? missed + 1 : 0;
      if (task !== undefined && ended.has(task.status)) return endOf(task, metadata);
      if (missed > mostMissed)
        throw new CliError(exitCodes.failed, `agent ${agent} knows nothing of task ${taskId}`);
      if (task !== undefined) progress.show({ ...task.progress, message: messageOf(task) });
      await clock.sleep(lookMs, interrupted);
    }
  } catch (error) {
    progress.clear();
    // Nobody else tells the id, and without it the result cannot be found again.
    terminal.note(`Task ${taskId} of agent ${agent} ${interrupted.aborted ? 'goes' : 'may go'} on.`);
    throw error;
  }
}

const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

interface Place {
  readonly namespace: string;
  readonly agent: string;
  readonly taskId: string;
}

function pathOf({ path }: Router, { namespace, agent, taskId }: Place): string {
  // Without a Route the agents of the home namespace are served, whichever one is meant.
  if (path === undefined) return `/mcps/${encodeURIComponent(agent)}/task?${new URLSearchParams({ taskId })}`;
  return `/.ploinky/task?${new URLSearchParams({ agent: `${namespace}/${agent}`, taskId })}`;
}

function messageOf({ status, progress }: LiveTask): string {
  const message = progress?.['message'];
  if (status === 'input_required') return 'waits for an answer';
  return status === 'running' && typeof message === 'string' ? message : status;
}

function endOf(
  { status, result, error }: LiveTask,
  metadata: Record<string, unknown>,
): Record<string, unknown> {
  const about = { ...metadata, ...(isObject(result?.['metadata']) && result['metadata']), status };
  if (status === 'completed') return { ...result, metadata: about };
  const content = result?.['content'] ?? [{ type: 'text', text: error ?? `task ${status}` }];
  return { ...result, content, isError: true, metadata: about };
}
