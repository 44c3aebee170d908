import { apiVersion } from '#api/group.ts';
import { retryOfAnnotation } from '#api/labels.ts';
import { taskResource } from '#api/resources.ts';
import type { Task, TaskSpec } from '#api/task.ts';
import type { Client } from '#kube/client.ts';
import { fieldManager } from '../apply.ts';
import { CliError } from '../errors.ts';
import { exitCodes } from '../exit-codes.ts';
import { isFinished, phaseOf } from './phase.ts';

/** What a person asks for; everything else has the API's defaults. */
export interface Wish {
  readonly agent: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly priority?: string | undefined;
  readonly timeoutSeconds?: number | undefined;
  /** Attempts after the first, whatever the first one failed of. */
  readonly retry?: number | undefined;
  readonly isolation?: string | undefined;
}

export function specOf({ agent, tool, input, priority, timeoutSeconds, retry, isolation }: Wish): object {
  return {
    agentRef: { name: agent },
    tool,
    input,
    ...(priority !== undefined && { priority }),
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    ...(retry !== undefined && { retry: { limit: retry, when: ['Failed', 'TimedOut', 'Interrupted'] } }),
    ...(isolation !== undefined && { isolation }),
  };
}

export interface NewTask {
  readonly namespace: string;
  /** Default: one that begins as the tool's. */
  readonly name: string | undefined;
  readonly spec: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

export async function createTask(
  client: Client,
  { namespace, name, spec, annotations }: NewTask,
): Promise<Task> {
  const { tool } = spec as Partial<TaskSpec>;
  const named = name === undefined ? { generateName: `${slugOf(tool ?? '')}-` } : { name };
  const metadata = { ...named, namespace, ...(annotations && { annotations }) };
  const object = { apiVersion, kind: 'Task', metadata, spec } as unknown as Task;
  return client.create<Task>(taskResource, object, { fieldManager, fieldValidation: 'Strict' });
}

const longestSlug = 40;

/** As much of a tool's name as a name of an object may have. */
export function slugOf(tool: string): string {
  const slug = tool
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, longestSlug)
    .replaceAll(/^-+|-+$/g, '');
  return slug === '' ? 'task' : slug;
}

/** The same again. Throws `usage` for one that still runs, or has a schedule. */
export function repeatOf(task: Task): Pick<NewTask, 'spec' | 'annotations'> {
  const { name } = task.metadata;
  if (task.spec.schedule !== undefined) {
    throw new CliError(exitCodes.usage, `task ${name} has a schedule, which makes tasks by itself`);
  }
  if (!isFinished(task)) {
    throw new CliError(
      exitCodes.usage,
      `task ${name} has not ended: it is ${phaseOf(task)}`,
      `\`ploinky task wait ${name}\` waits for it, \`ploinky task cancel ${name}\` ends it.`,
    );
  }
  return { spec: task.spec, annotations: { [retryOfAnnotation]: name } };
}
