import { createLogTail } from '../queue/log-tail.ts';
import type { TaskRecord } from '../queue/queue.ts';
import type { CallContext, Progress } from '../source.ts';
import { logLine } from '../tasks/log-line.ts';
import type { BegunTask } from '../tasks/task-service.ts';
import type { CommandServices } from './command-host.ts';
import { type CommandTool, runTool, type ToolEnd, type ToolRun } from './command-tool.ts';
import type { CallMode } from './task-mode.ts';
import { orderOf, outcomeOf } from './tool-task.ts';

/** A run that its caller waits for, up to a point; from then on it is a task, and the same run goes on as that. */
interface Live {
  readonly ended: Promise<ToolEnd>;
  /** Where output, progress and logs go from now on. */
  become(task: BegunTask): void;
}

/**
 * Runs a tool and resolves to how it ended, or, once it outruns its window, to the task that it then is: recorded
 * before anybody is told, and never run again for that. Where it cannot be recorded, the caller waits on.
 * The place at the gate is given back when the run ends. Rejects as runTool.
 */
export async function callWithinWindow(
  tool: CommandTool,
  run: { readonly input: Record<string, unknown>; readonly params: Record<string, unknown> },
  call: CallContext,
  told: CallMode['told'],
  services: CommandServices,
): Promise<ToolEnd | { readonly type: 'task'; readonly task: TaskRecord }> {
  const { host, gate, tasks } = services;
  const leave = await gate.enter(call.signal);
  const startedAt = host.clock.now();
  const stop = new AbortController();
  const follow = () => stop.abort(call.signal.reason);
  call.signal.addEventListener('abort', follow, { once: true });
  if (call.signal.aborted) follow();
  const live = startLive(tool, toolRun(tool, run), { ...call, signal: stop.signal }, services);
  void live.ended.catch(() => undefined).finally(leave);
  try {
    if (await endsWithin(live.ended, tool.definition.syncWindowMs ?? 0, services)) return await live.ended;
    const order = orderOf(tool, run, call, told);
    const begun = await tasks.begin(order, startedAt).catch((error: unknown) => {
      host.log.warn('A long call cannot be made a task and is waited for', { error });
      return undefined;
    });
    if (begun === undefined) return await live.ended;
    live.become(begun);
    void followTask(live.ended, begun, stop, order.capabilities ?? {});
    return { type: 'task', task: begun.lease.task };
  } finally {
    call.signal.removeEventListener('abort', follow);
  }
}

/** What may become a task has the limit of one from its start: it is not known yet whether it does. */
function toolRun(
  { definition }: CommandTool,
  {
    input,
    params: { inputResponses, requestState },
  }: { readonly input: Record<string, unknown>; readonly params: Record<string, unknown> },
): ToolRun {
  return { input, inputResponses, requestState, timeoutMs: definition.timeout ?? definition.timeoutMs };
}

function startLive(tool: CommandTool, run: ToolRun, call: CallContext, { host }: CommandServices): Live {
  const early = createLogTail(host.settings.taskLogTailBytes);
  let task: BegunTask | undefined;
  let latest: Progress | undefined;
  const onOutput = (bytes: Uint8Array) => (task === undefined ? early.append(bytes) : task.onOutput(bytes));
  const context: CallContext = {
    ...call,
    onProgress(progress) {
      latest = progress;
      if (task === undefined) call.onProgress?.(progress);
      else task.onProgress(progress);
    },
    onLog: (...log) =>
      task === undefined ? call.onLog(...log) : task.onOutput(Buffer.from(logLine(...log))),
  };
  return {
    ended: runTool(tool, { ...run, onOutput }, context, host),
    become(begun) {
      task = begun;
      if (early.sequence > 0) begun.onOutput(Buffer.from(early.text()));
      if (latest !== undefined) begun.onProgress(latest);
    },
  };
}

/** Whether it ends, well or badly, in so many milliseconds. */
async function endsWithin(ended: Promise<unknown>, ms: number, { host }: CommandServices): Promise<boolean> {
  const done = new AbortController();
  const late = host.clock.sleep(ms, done.signal).then(
    () => false,
    () => true,
  );
  const ending = ended.then(
    () => true,
    () => true,
  );
  const inTime = await Promise.race([ending, late]);
  done.abort(new Error('It has ended'));
  return inTime;
}

/** Records how it ends; a task that is cancelled ends its run. */
async function followTask(
  ended: Promise<ToolEnd>,
  begun: BegunTask,
  stop: AbortController,
  capabilities: CallContext['capabilities'],
): Promise<void> {
  const { signal, task } = begun.lease;
  signal.addEventListener('abort', () => stop.abort(signal.reason), { once: true });
  if (signal.aborted) stop.abort(signal.reason);
  const outcome = await ended.then(
    (end) => outcomeOf(end, task, capabilities),
    () => ({ status: 'cancelled' }) as const,
  );
  await begun.end(outcome).catch(() => undefined);
}
