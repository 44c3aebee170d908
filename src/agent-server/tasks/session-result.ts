import { RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { askInput, type RoundsOptions } from '../bridge/rounds.ts';
import type { TaskRecord } from '../queue/queue.ts';
import type { CallContext } from '../source.ts';
import { isFinal, openQuestions, outcomeOf } from './mcp-fields.ts';
import type { TaskService } from './service.ts';

export interface WaitOptions {
  readonly service: TaskService;
  readonly rounds: RoundsOptions;
  /** Of the queue. */
  readonly id: string;
  /** As the client calls it. */
  readonly taskId: string;
  readonly context: CallContext;
}

/**
 * tasks/result of 2025-11-25: the result of the task's call, when it has ended; what it asks meanwhile is put to the
 * client on the stream of this request. Throws RpcError: the error that the task ended with, or `internal` when the
 * client cannot be asked, refuses, or is asked too often; the task then waits on.
 */
export async function answerWithResult(options: WaitOptions): Promise<Result> {
  const { service, rounds, id, taskId, context } = options;
  for (let round = 1; ; ) {
    const record = await untilItMatters(service, id, context.signal);
    if (isFinal(record)) return resultOf(record, taskId);
    const inputRequests = openQuestions(record);
    const related = { ...context, ask: askAbout(taskId, context) };
    await service.answer(id, await askInput({ inputRequests }, round, related, rounds));
    round += 1;
  }
}

function resultOf(record: TaskRecord, taskId: string): Result {
  const outcome = outcomeOf(record);
  if (outcome instanceof RpcError) throw outcome;
  return { ...outcome, _meta: { ...(outcome['_meta'] as object | undefined), ...relatedTo(taskId) } };
}

/** Says of each question which task asks it. */
function askAbout(taskId: string, { ask }: CallContext): CallContext['ask'] {
  if (ask === undefined) return undefined;
  return (method, params, signal) => {
    const _meta = { ...(params['_meta'] as object | undefined), ...relatedTo(taskId) };
    return ask(method, { ...params, _meta }, signal);
  };
}

function relatedTo(taskId: string): Result {
  return { 'io.modelcontextprotocol/related-task': { taskId } };
}

/** Resolves when the task has ended or asks something. Rejects with the signal's reason. */
async function untilItMatters(service: TaskService, id: string, signal: AbortSignal): Promise<TaskRecord> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  let changed = Promise.withResolvers<void>();
  const stop = service.onChange((change) => {
    // What runs on, does not matter however much it says of its progress.
    if (change.id !== id || change.status === 'running') return;
    changed.resolve();
    changed = Promise.withResolvers();
  });
  try {
    for (;;) {
      const next = changed.promise;
      const record = await Promise.race([service.get(id), aborted]);
      if (record === undefined) throw new RpcError(-32_602, 'Invalid params: there is no such task');
      if (isFinal(record) || record.status === 'input_required') return record;
      await Promise.race([next, aborted]);
    }
  } finally {
    stop();
    signal.removeEventListener('abort', onAbort);
  }
}
