import type { Clock } from '#kit/clock.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { errorOfTask, isOver, statusOf } from '#mcp/tasks/translate.ts';
import type { CallContext } from '../../source.ts';
import { askInput, type RoundsOptions } from '../rounds.ts';

export type SendTask = (method: string, params: Params, signal: AbortSignal) => Promise<Result>;

export interface AwaitOptions extends RoundsOptions {
  readonly clock: Clock;
  /** Milliseconds for the whole task. */
  readonly timeoutMs: number;
}

const usualPollMs = 1000;
const leastPollMs = 50;
const mostPollMs = 30_000;
/** Milliseconds for a server to take notice of a cancellation. */
const cancelMs = 5000;

/**
 * The result of a task of 2026-07-28, for a client that knows no such tasks: asked for at the server's pace; what the
 * task wants to know is put to the client on its call's stream. A client that cancels its call cancels the task.
 * Throws RpcError: the task's own error, `internal` when it was cancelled, asks too often, or takes too long.
 */
export async function awaitTask(
  task: Result,
  context: CallContext,
  send: SendTask,
  options: AwaitOptions,
): Promise<Result> {
  const late = new AbortController();
  const { timeoutMs, clock } = options;
  const stopWaiting = clock.after(timeoutMs, () =>
    late.abort(new RpcError(errorCodes.internal, `The task did not end within ${timeoutMs} ms`)),
  );
  const signal = AbortSignal.any([context.signal, late.signal]);
  try {
    return await follow(task, { ...context, signal }, send, options);
  } catch (error) {
    if (signal.aborted || !(error instanceof TaskEnded)) cancel(task, send, clock);
    throw error instanceof TaskEnded ? error.cause : error;
  } finally {
    stopWaiting();
  }
}

/** The task has ended by itself; `cause` is what the call ends with. */
class TaskEnded extends Error {}

async function follow(
  task: Result,
  context: CallContext,
  send: SendTask,
  options: AwaitOptions,
): Promise<Result> {
  const { taskId } = task;
  const { signal } = context;
  const answered = new Set<string>();
  // Of one that ended at once, the answer that began it tells neither result nor error.
  let state = isOver(statusOf(task)) ? await send('tasks/get', { taskId }, signal) : task;
  for (let rounds = 0; ; ) {
    const status = statusOf(state);
    if (status === 'completed') return resultIn(state);
    if (status === 'failed') throw new TaskEnded('failed', { cause: errorOfTask(state) });
    if (status === 'cancelled') throw new TaskEnded('cancelled', { cause: cancelled() });
    const fresh = status === 'input_required' ? unanswered(state, answered) : {};
    if (Object.keys(fresh).length > 0) {
      rounds += 1;
      const inputResponses = await askInput({ inputRequests: fresh }, rounds, context, options);
      for (const key of Object.keys(fresh)) answered.add(key);
      await send('tasks/update', { taskId, inputResponses }, signal);
    } else await options.clock.sleep(pauseOf(state), signal);
    state = await send('tasks/get', { taskId }, signal);
  }
}

/** A server may name a question again until it has taken notice of the answer. */
function unanswered({ inputRequests }: Result, answered: ReadonlySet<string>): Params {
  const entries = Object.entries((inputRequests ?? {}) as Params);
  return Object.fromEntries(entries.filter(([key]) => !answered.has(key)));
}

function resultIn({ result }: Result): Result {
  return (result ?? { content: [] }) as Result;
}

function pauseOf({ pollIntervalMs }: Result): number {
  const wanted = typeof pollIntervalMs === 'number' ? pollIntervalMs : usualPollMs;
  return Math.max(leastPollMs, Math.min(wanted, mostPollMs));
}

/** Nobody waits for it any more. Best effort. */
function cancel({ taskId }: Result, send: SendTask, clock: Clock): void {
  const stop = new AbortController();
  const giveUp = clock.after(cancelMs, () => stop.abort(new Error('The server does not answer')));
  send('tasks/cancel', { taskId }, stop.signal)
    .catch(() => undefined)
    .finally(giveUp);
}

function cancelled(): RpcError {
  return new RpcError(errorCodes.internal, 'The task was cancelled');
}
