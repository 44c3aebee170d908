import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { asksForInput } from '#mcp/bridge/questions.ts';
import { firstStatelessRevision } from '#mcp/eras.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { Settings } from '../config/settings.ts';
import { AgentServerError } from '../errors.ts';
import type { Lease, Outcome } from '../queue/queue.ts';
import type { CallContext, Source } from '../source.ts';
import { payloadOf } from './payload.ts';
import { questionsOf, responsesFor } from './questions.ts';
import type { TaskHooks, TaskTools } from './task-tools.ts';

/** Tasks of the tools of an MCP server: an attempt is a call of it. What it asks comes back as with any call of 2026. */
export function sourceTasks(
  source: Source,
  { clock, settings }: { readonly clock: Clock; readonly settings: Settings },
): TaskTools {
  return {
    admit(name, input) {
      if (source.catalog.tools.some((tool) => tool.name === name)) return { input };
      if (!source.status.ready) throw new RpcError(errorCodes.server, source.status.message);
      throw new RpcError(errorCodes.invalidParams, `Tool ${name} not found`);
    },
    async execute(lease, hooks) {
      const timeoutMs = lease.task.timeoutMs ?? settings.upstreamTimeoutMs;
      const late = new AbortController();
      const cancelTimer = clock.after(timeoutMs, () => late.abort(new Error('too late')));
      const signal = AbortSignal.any([lease.signal, late.signal]);
      try {
        return outcomeOf(await callOf(source, lease, hooks, signal), lease);
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

function callOf(source: Source, lease: Lease, hooks: TaskHooks, signal: AbortSignal): Promise<Result> {
  const { task } = lease;
  const { input, inputResponses, requestState } = payloadOf(task);
  const responses = responsesFor(task) ?? inputResponses;
  const state = task.requestState ?? requestState;
  const params = {
    name: task.toolName,
    arguments: input,
    ...(responses !== undefined && { inputResponses: responses }),
    ...(state !== undefined && { requestState: state }),
  };
  return source.request('tools/call', params, contextOf(lease, hooks, signal));
}

function outcomeOf(result: Result, { task }: Lease): Outcome {
  if (asksForInput(result)) {
    const { inputRequests, requestState } = result;
    const requests = questionsOf(isObject(inputRequests) ? inputRequests : {}, task.attempt);
    return {
      status: 'input_required',
      requests,
      state: typeof requestState === 'string' ? requestState : null,
    };
  }
  if (result['isError'] !== true) return { status: 'completed', result };
  return { status: 'failed', reason: 'Failed', error: textOf(result), result };
}

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

/** As a client of 2026-07-28 that takes no tasks: what the server begins as one is waited for. */
function contextOf({ task }: Lease, hooks: TaskHooks, signal: AbortSignal): CallContext {
  const { claims, requestId, capabilities } = payloadOf(task);
  const { extensions: _none, ...asked } = capabilities;
  return {
    era: 'stateless',
    revision: firstStatelessRevision,
    session: undefined,
    requestId,
    headers: {},
    claims,
    token: undefined,
    capabilities: asked,
    signal,
    onProgress: hooks.onProgress,
    logLevel: 'info',
    onLog: (level, data) => hooks.onOutput(Buffer.from(`[${level}] ${JSON.stringify(data)}\n`)),
    admitted: true,
  };
}
