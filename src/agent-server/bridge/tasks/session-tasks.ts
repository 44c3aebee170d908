import { readInputResponses } from '#mcp/bridge/questions.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import {
  askingForStateless,
  endedForStateless,
  fieldsForStateless,
  isOver,
  statusOf,
} from '#mcp/tasks/translate.ts';
import type { CallContext } from '../../source.ts';
import type { AskingTasks } from './asking-tasks.ts';
import type { TaskLink } from './known-tasks.ts';

/** A task of a server of 2025-11-25, as a client of 2026-07-28 asks for it. */
export interface SessionTask {
  /** Unique among the tasks of the agent. */
  readonly key: string;
  readonly link: TaskLink | undefined;
  readonly context: CallContext;
  /** One of the server's methods, about this task. Rejects as the server does. */
  send(method: string, context: CallContext): Promise<Result>;
}

/** Serves tasks/get, tasks/update and tasks/cancel of 2026-07-28 with what 2025-11-25 has instead (K7). */
export function serveSessionTask(
  method: string,
  params: Params,
  task: SessionTask,
  asking: AskingTasks,
): Promise<Result> {
  if (method === 'tasks/get') return get(task, asking);
  if (method === 'tasks/update') return update(params, task, asking);
  if (method === 'tasks/cancel') return cancel(task, asking);
  throw new RpcError(errorCodes.methodNotFound, `Method not found: ${method}`);
}

async function get(task: SessionTask, asking: AskingTasks): Promise<Result> {
  const { key, context, link } = task;
  const state = await task.send('tasks/get', context);
  const status = statusOf(state);
  if (isOver(status)) asking.end(key);
  if (status === 'completed' || status === 'failed') return endedForStateless(state, await outcomeOf(task));
  if (status !== 'input_required') return fieldsForStateless(state);
  // Only who declared that it can be asked has an upstream session of its own.
  const send = (own: CallContext) => task.send('tasks/result', own);
  const questions = link === undefined ? undefined : await asking.questions(key, { link, context, send });
  if (questions !== undefined) return askingForStateless(state, questions);
  return { ...fieldsForStateless(state), status: 'working' };
}

async function outcomeOf({ send, context }: SessionTask): Promise<Result | RpcError> {
  try {
    return await send('tasks/result', context);
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
}

async function update(
  params: Params,
  { key, send, context }: SessionTask,
  asking: AskingTasks,
): Promise<Result> {
  const responses = readInputResponses(params);
  // Answers that come too late are ignored, but not those for a task that is not there.
  if (!asking.answer(key, responses)) await send('tasks/get', context);
  return {};
}

async function cancel({ key, send, context }: SessionTask, asking: AskingTasks): Promise<Result> {
  asking.end(key);
  try {
    await send('tasks/cancel', context);
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    // In 2025-11-25 it is an error when the task is over, in 2026-07-28 it is none.
    if (!isOver(statusOf(await send('tasks/get', context)))) throw error;
  }
  return {};
}
