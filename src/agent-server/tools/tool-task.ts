import { isObject } from '#kit/json.ts';
import type { Params } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { Lease, Outcome, TaskRecord } from '../queue/queue.ts';
import type { CallContext } from '../source.ts';
import type { CommandHost, CommandServices } from './command-host.ts';
import { type CommandTool, runTool } from './command-tool.ts';

/**
 * Queues a call of an `async` tool and answers with its id (Ploinky contract, §4). The invocation's claims
 * are kept with the task, its token and the request's headers are not.
 */
export async function enqueueTool(
  tool: CommandTool,
  run: { readonly input: Record<string, unknown>; readonly params: Params },
  call: CallContext,
  { queue, host }: CommandServices,
): Promise<Result> {
  const { timeout, timeoutMs } = tool.definition;
  const limit = timeout ?? timeoutMs;
  const task = await queue.enqueue({
    toolName: tool.definition.name,
    payload: { input: run.input, session: call.session, requestId: call.requestId, claims: call.claims },
    ...(limit !== undefined && { timeoutMs: limit }),
  });
  return {
    content: [{ type: 'text', text: `Task '${task.toolName}' queued with id ${task.id}` }],
    metadata: {
      agent: host.agentName,
      taskId: task.id,
      toolName: task.toolName,
      status: task.status,
      createdAt: task.createdAt,
      updatedAt: task.updatedAt,
    },
  };
}

/** Runs a leased task with the tool as it is configured now. */
export async function executeToolTask(
  lease: Lease,
  tool: CommandTool | undefined,
  host: CommandHost,
  onOutput: (bytes: Uint8Array) => void,
): Promise<Outcome> {
  const { task } = lease;
  if (tool === undefined) return { status: 'failed', error: `Tool ${task.toolName} not found` };
  const input = isObject(task.payload['input']) ? task.payload['input'] : {};
  const limited = withTimeout(tool, task);
  const run = { input, params: {}, taskId: task.id, onOutput };
  const { result, failure } = await runTool(limited, run, taskContext(lease), host);
  if (failure === undefined) return { status: 'completed', result };
  const timedOut = failure.startsWith('command timed out after ');
  return { status: 'failed', error: timedOut ? failure.replace('command', 'Task') : failure, result };
}

function withTimeout(tool: CommandTool, task: TaskRecord): CommandTool {
  if (task.timeoutMs === null) return tool;
  return { ...tool, definition: { ...tool.definition, timeoutMs: task.timeoutMs } };
}

/** A task has no client that waits: progress and logs go nowhere but its log. */
function taskContext({ task, signal }: Lease): CallContext {
  const { session, requestId, claims } = task.payload;
  return {
    era: 'sessions',
    revision: '2025-11-25',
    session: typeof session === 'string' ? session : undefined,
    requestId: typeof requestId === 'number' ? requestId : String(requestId),
    headers: {},
    claims: isObject(claims) ? (claims as unknown as CallContext['claims']) : undefined,
    token: undefined,
    capabilities: {},
    signal,
    onProgress: undefined,
    logLevel: undefined,
    onLog: () => undefined,
  };
}
