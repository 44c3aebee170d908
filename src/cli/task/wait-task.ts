import type { Task } from '#api/task.ts';
import type { Client } from '#kube/client.ts';
import type { Cli } from '../context.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { harmless } from '../terminal.ts';
import { followTask } from './follow-task.ts';
import { isFinished, phaseOf, refusalOf } from './phase.ts';

export interface WaitRequest {
  readonly namespace: string;
  readonly name: string;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Hears of the Task as it is when the wait begins, and of each change. */
  readonly onChange: (task: Task) => void;
}

/** Reasons of a condition Accepted that nothing but another Task mends. */
const lasting: ReadonlySet<string> = new Set(['NotImplemented', 'Invalid']);

/**
 * Waits until a Task has ended. Undefined: the signal came first. Throws `notFound` when it is gone, `usage` for one
 * that only makes others, `refused` for one that is not carried out.
 */
export async function waitForTask(
  { clock }: Pick<Cli, 'clock'>,
  client: Client,
  { namespace, name, signal, onChange }: WaitRequest,
): Promise<Task | undefined> {
  let seen = false;
  for await (const task of followTask(client, { namespace, name, clock, signal })) {
    if (task === undefined) throw gone(name, seen);
    seen = true;
    onChange(task);
    if (isFinished(task)) return task;
    if (task.spec.schedule !== undefined) throw neverEnds(name);
    const refusal = refusalOf(task);
    if (refusal !== undefined && lasting.has(refusal.reason)) {
      throw new CliError(exitCodes.refused, `task ${name} is not carried out: ${refusal.message}`);
    }
  }
  return undefined;
}

function gone(name: string, seen: boolean): CliError {
  const message = seen ? `task ${name} was deleted while it was waited for` : `there is no task ${name}`;
  return new CliError(exitCodes.notFound, message, '`ploinky task list` shows them.');
}

function neverEnds(name: string): CliError {
  return new CliError(
    exitCodes.usage,
    `task ${name} has a schedule: it makes other tasks and never ends itself`,
    `\`ploinky task list -l ploinky.dev/scheduled-by=${name}\` shows those.`,
  );
}

/** That a Task ended otherwise than well; undefined for one that succeeded. `told`: the tool's own words were shown. */
export function failureOf(task: Task, { told }: { told: boolean }): CliError | undefined {
  const phase = phaseOf(task);
  if (phase === 'Succeeded') return undefined;
  const why = told ? undefined : task.status?.result?.message;
  const message = `task ${task.metadata.name} ended as ${phase}${why ? `: ${harmless(why)}` : ''}`;
  return new CliError(exitCodes.toolFailed, message);
}
