import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import type { Random } from '#kit/random.ts';
import { asksForInput } from '#mcp/bridge/questions.ts';
import { firstStatelessRevision, tasksExtension } from '#mcp/eras.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { begunTask } from '#mcp/tasks/rename.ts';
import { roundLimits } from '../bridge/rounds.ts';
import { awaitTask } from '../bridge/tasks/await-task.ts';
import type { Settings } from '../config/settings.ts';
import { AgentServerError } from '../errors.ts';
import type { Lease, Outcome } from '../queue/queue.ts';
import type { CallContext, Source } from '../source.ts';
import { logLine } from './log-line.ts';
import { payloadOf } from './payload.ts';
import type { TaskHooks, TaskTools } from './task-tools.ts';

export interface SourceTasksOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly settings: Settings;
}

/**
 * Tasks of the tools of an MCP server: an attempt is a call of it, and what the server makes a task of its own is waited
 * for. Nobody can be asked there.
 */
export function sourceTasks(source: Source, options: SourceTasksOptions): TaskTools {
  return {
    admit(name, input) {
      if (source.catalog.tools.some((tool) => tool.name === name)) return { input };
      if (!source.status.ready) throw new RpcError(errorCodes.server, source.status.message);
      throw new RpcError(errorCodes.invalidParams, `Tool ${name} not found`);
    },
    async execute(lease, hooks) {
      const timeoutMs = lease.task.timeoutMs ?? options.settings.upstreamTimeoutMs;
      const late = new AbortController();
      const cancelTimer = options.clock.after(timeoutMs, () => late.abort(new Error('too late')));
      const signal = AbortSignal.any([lease.signal, late.signal]);
      const context = { ...contextOf(lease, hooks, signal), timeoutMs };
      try {
        return outcomeOf(await call(source, lease, context, options));
      } catch (error) {
        if (lease.signal.aborted) throw error;
        if (!late.signal.aborted) return failureOf(error);
        return { status: 'failed', reason: 'TimedOut', error: `Task timed out after ${timeoutMs}ms` };
      } finally {
        cancelTimer();
      }
    },
  };
}

async function call(
  source: Source,
  { task }: Lease,
  context: CallContext & { readonly timeoutMs: number },
  options: SourceTasksOptions,
): Promise<Result> {
  const params = { name: task.toolName, arguments: payloadOf(task).input };
  const result = await source.request('tools/call', params, context);
  const begun = begunTask(result);
  if (begun === undefined) return result;
  const ask = (method: string, about: Result, signal: AbortSignal) =>
    source.request(method, about, { ...context, signal, timeoutMs: undefined });
  return awaitTask(begun, context, ask, { ...roundLimits(options), timeoutMs: context.timeoutMs });
}

function outcomeOf(result: Result): Outcome {
  if (asksForInput(result))
    return failureOf(new RpcError(errorCodes.internal, 'The tool asks something, and nobody can be asked'));
  if (result['isError'] !== true) return { status: 'completed', result };
  return { status: 'failed', reason: 'Failed', error: textOf(result), result };
}

function failureOf(error: RpcError): Outcome;
function failureOf(error: unknown): Outcome | 'lost';
function failureOf(error: unknown): Outcome | 'lost' {
  if (error instanceof AgentServerError && error.code === 'UpstreamLost') return 'lost';
  if (!(error instanceof RpcError)) throw error;
  const { code, message, data } = error;
  const rpcError = { code, message, ...(data !== undefined && { data }) };
  return { status: 'failed', reason: 'Failed', error: message, rpcError };
}

const longestError = 4096;

function textOf({ content }: Result): string {
  const texts = Array.isArray(content) ? content.filter(isObject).map(({ text }) => text) : [];
  const text = texts.filter((one) => typeof one === 'string').join('\n');
  return text === '' ? 'The tool failed' : text.slice(0, longestError);
}

/** As a client of 2026-07-28 that takes tasks and can be asked nothing. */
function contextOf({ task }: Lease, hooks: TaskHooks, signal: AbortSignal): CallContext {
  const { claims, requestId } = payloadOf(task);
  return {
    era: 'stateless',
    revision: firstStatelessRevision,
    session: undefined,
    requestId,
    headers: {},
    claims,
    token: undefined,
    capabilities: { extensions: { [tasksExtension]: {} } },
    signal,
    onProgress: hooks.onProgress,
    logLevel: 'info',
    onLog: (...log) => hooks.onOutput(Buffer.from(logLine(...log))),
    admitted: true,
  };
}
