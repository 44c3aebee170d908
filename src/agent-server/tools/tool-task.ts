import { isObject } from '#kit/json.ts';
import { mayAsk } from '#mcp/bridge/capabilities.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { ownerOf } from '../bridge/tasks/names.ts';
import type { Lease, Outcome, TaskRecord } from '../queue/queue.ts';
import type { CallContext } from '../source.ts';
import { logLine } from '../tasks/log-line.ts';
import { payloadOf } from '../tasks/payload.ts';
import { type Questions, questionsOf, responsesFor } from '../tasks/questions.ts';
import type { TaskOrder } from '../tasks/service.ts';
import type { TaskHooks } from '../tasks/task-tools.ts';
import type { CommandHost } from './command-host.ts';
import { type CommandTool, runTool, type ToolEnd } from './command-tool.ts';
import type { CallMode } from './task-mode.ts';

/** The order for a call whose client is told so. The invocation's claims are kept with the task, its token and the request's headers are not. */
export function orderOf(
  { definition }: CommandTool,
  run: { readonly input: Record<string, unknown>; readonly params: Params },
  call: CallContext,
  told: CallMode['told'],
): TaskOrder {
  const { inputResponses, requestState, task } = run.params;
  const ttl = isObject(task) ? task['ttl'] : undefined;
  const timeoutMs = definition.timeout ?? definition.timeoutMs;
  return {
    tool: definition.name,
    input: run.input,
    owner: ownerOf(call),
    claims: call.claims,
    session: call.session,
    requestId: call.requestId,
    // Nobody is asked who is told of the task as the contract does.
    capabilities: told === 'mcp' ? call.capabilities : {},
    told,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(typeof ttl === 'number' && ttl > 0 && { ttlMs: ttl }),
    ...(inputResponses !== undefined && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
}

/** What a client without tasks is told of one that its call has become (Ploinky contract, §4). */
export function queuedAnswer(task: TaskRecord, { agentName }: CommandHost): Result {
  return {
    content: [{ type: 'text', text: `Task '${task.toolName}' queued with id ${task.id}` }],
    metadata: {
      agent: agentName,
      taskId: task.id,
      toolName: task.toolName,
      status: task.status,
      createdAt: task.createdAt,
      updatedAt: task.updatedAt,
    },
  };
}

/** One attempt of a task, with the tool as it is configured now. */
export async function executeToolTask(
  lease: Lease,
  tool: CommandTool | undefined,
  host: CommandHost,
  hooks: TaskHooks,
): Promise<Outcome | 'lost'> {
  const { task } = lease;
  if (tool === undefined) return { status: 'failed', error: `Tool ${task.toolName} not found` };
  const { input, inputResponses, requestState } = payloadOf(task);
  const run = {
    input,
    inputResponses: responsesFor(task) ?? inputResponses,
    requestState: task.requestState ?? requestState,
    taskId: task.id,
    timeoutMs: task.timeoutMs ?? undefined,
    onOutput: hooks.onOutput,
  };
  const end = await runTool(tool, run, taskContext(lease, hooks), host);
  return outcomeOf(end, task, payloadOf(task).capabilities);
}

/** What is recorded of a run that ended so. */
export function outcomeOf(
  end: ToolEnd,
  task: Pick<TaskRecord, 'attempt'>,
  capabilities: CallContext['capabilities'],
): Outcome | 'lost' {
  if (end.type === 'result') return { status: 'completed', result: end.result, exitCode: 0 };
  if (end.type === 'question') return askedBy(end.question, task, capabilities);
  if (end.type === 'error') return failedWith(end.error);
  const { cause, message, exitCode, result } = end;
  if (cause === 'lost') return 'lost';
  const about = { result, ...(exitCode !== undefined && { exitCode }) };
  if (cause !== 'timeout') return { status: 'failed', reason: 'Failed', error: message, ...about };
  return { status: 'failed', reason: 'TimedOut', error: message.replace('command', 'Task'), ...about };
}

function failedWith({ code, message, data }: RpcError): Outcome {
  const rpcError = { code, message, ...(data !== undefined && { data }) };
  return { status: 'failed', reason: 'Failed', error: message, rpcError };
}

function askedBy(
  question: Result,
  { attempt }: Pick<TaskRecord, 'attempt'>,
  capabilities: CallContext['capabilities'],
): Outcome {
  const { requestState } = question;
  try {
    const requests = questionsOf(askable(question, capabilities), attempt);
    return {
      status: 'input_required',
      requests,
      state: typeof requestState === 'string' ? requestState : null,
    };
  } catch (error) {
    if (error instanceof RpcError) return failedWith(error);
    throw error;
  }
}

/**
 * What a tool asks, for a client that can answer it. Throws RpcError: `missingCapability` for what the client did not
 * declare, `internal` for what is no question.
 */
export function askable(question: Result, capabilities: CallContext['capabilities']): Questions {
  const { inputRequests } = question;
  const requests = isObject(inputRequests) ? inputRequests : {};
  const entries = Object.entries(requests);
  if (entries.length === 0) throw new RpcError(errorCodes.internal, 'The tool asks nothing');
  for (const [key, request] of entries) {
    const method = isObject(request) ? String(request['method']) : '';
    const params = isObject(request) && isObject(request['params']) ? request['params'] : {};
    const needed = neededFor(method);
    if (needed === undefined)
      throw new RpcError(errorCodes.internal, `The tool asks ${key}, which is no question`);
    if (mayAsk(capabilities, method, params)) continue;
    throw new RpcError(
      errorCodes.missingCapability,
      `The tool asks ${method}, which its client cannot answer`,
      {
        requiredCapabilities: { [needed]: params['mode'] === 'url' ? { url: {} } : {} },
      },
    );
  }
  return requests;
}

function neededFor(method: string): string | undefined {
  if (method === 'elicitation/create') return 'elicitation';
  if (method === 'sampling/createMessage') return 'sampling';
  return method === 'roots/list' ? 'roots' : undefined;
}

/** A task has no client that waits: progress goes to its record, logs to its log. */
function taskContext({ task, signal }: Lease, { onOutput, onProgress }: TaskHooks): CallContext {
  const { session, requestId, claims } = payloadOf(task);
  return {
    era: 'sessions',
    revision: '2025-11-25',
    session,
    requestId,
    headers: {},
    claims,
    token: undefined,
    capabilities: {},
    signal,
    onProgress,
    logLevel: undefined,
    onLog: (level, data, logger) => onOutput(Buffer.from(logLine(level, data, logger))),
  };
}
