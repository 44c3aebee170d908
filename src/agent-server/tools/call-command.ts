import type { Params } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import { answerRounds } from '../bridge/rounds.ts';
import type { TaskRecord } from '../queue/queue.ts';
import type { CallContext } from '../source.ts';
import type { CommandServices } from './command-host.ts';
import { type CommandTool, runTool, type ToolEnd } from './command-tool.ts';
import { type CallMode, modeOf } from './task-mode.ts';
import { askable, orderOf, queuedAnswer } from './tool-task.ts';
import { callWithinWindow } from './windowed-call.ts';

/**
 * A call of a tool, for any client: its result, or the task that it becomes, now or when it outruns its window. What
 * the tool asks goes to a client of 2026-07-28 as its result, and to one with a session on the call's stream.
 */
export async function callCommand(
  tool: CommandTool,
  input: Record<string, unknown>,
  params: Params,
  call: CallContext,
  services: CommandServices,
): Promise<Result> {
  const mode = modeOf(tool.definition, params, call);
  const tell = (task: TaskRecord) => tellTask(task, mode, call, services);
  if (mode.runs === 'task')
    return tell(await services.tasks.submit(orderOf(tool, { input, params }, call, mode.told)));
  async function once(sent: Params): Promise<Result> {
    const run = { input, params: sent };
    if (mode.runs === 'call') return answerOf(await runNow(tool, run, call, services), call);
    const end = await callWithinWindow(tool, run, call, mode.told, services);
    return end.type === 'task' ? tell(end.task) : answerOf(end, call);
  }
  if (call.era === 'stateless') return once(params);
  return answerRounds('tools/call', params, call, once, services.rounds);
}

async function runNow(
  tool: CommandTool,
  { input, params }: { readonly input: Record<string, unknown>; readonly params: Params },
  call: CallContext,
  { host, gate }: CommandServices,
): Promise<ToolEnd> {
  const leave = await gate.enter(call.signal);
  const { inputResponses, requestState } = params;
  return runTool(tool, { input, inputResponses, requestState }, call, host).finally(leave);
}

function answerOf(end: ToolEnd, call: CallContext): Result {
  if (end.type === 'error') throw end.error;
  if (end.type !== 'question') return end.result;
  if (call.era === 'stateless') askable(end.question, call.capabilities);
  return end.question;
}

function tellTask(
  task: TaskRecord,
  { told }: CallMode,
  call: CallContext,
  { mcpTasks, host }: CommandServices,
): Result {
  return told === 'mcp' ? mcpTasks.begun(task, call) : queuedAnswer(task, host);
}
