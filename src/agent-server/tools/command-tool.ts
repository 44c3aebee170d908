import type { RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { Tool } from '#mcp/types.ts';
import { readInputSchema } from '../config/field-map.ts';
import type { ToolDefinition } from '../config/mcp-config.ts';
import type { CallContext } from '../source.ts';
import { type ArgumentCheck, compileArguments } from './arguments.ts';
import { type CommandHost, type CommandTemplate, defineCommand } from './command-host.ts';
import { toolEnvelope } from './envelope.ts';
import { type GivenFiles, gatherGiven } from './given-files.ts';
import { withRunner } from './plugins-command.ts';
import { failureMessage, type Outcome, runCommand } from './run-command.ts';
import { supportOf } from './task-mode.ts';
import { readGivenFile, readToolEvent, type ToolVerdict } from './tool-events.ts';
import { errorResult, outputResult } from './tool-result.ts';

/** A tool of the configuration, ready to be called. */
export interface CommandTool {
  readonly definition: ToolDefinition;
  /** As clients see it. */
  readonly listed: Tool;
  readonly check: ArgumentCheck;
  readonly template: CommandTemplate;
}

export function createCommandTool(definition: ToolDefinition, host: CommandHost): CommandTool {
  const { schema, strips } = readInputSchema(definition.inputSchema, definition.input);
  const { name, title, description, outputSchema, annotations } = definition;
  const taskSupport = supportOf(definition);
  return {
    definition,
    check: compileArguments(name, schema, strips, host.settings.maxValidationMs),
    template: defineCommand(withRunner(definition, host), host, definition.prewarm ?? 0),
    listed: {
      name,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      inputSchema: schema,
      ...(outputSchema !== undefined && { outputSchema }),
      ...(annotations !== undefined && { annotations }),
      ...(taskSupport !== 'forbidden' && { execution: { taskSupport } }),
    },
  };
}

export interface ToolRun {
  readonly input: Record<string, unknown>;
  /** Answers to what an earlier run asked, and what that saved. */
  readonly inputResponses?: unknown;
  readonly requestState?: unknown;
  readonly taskId?: string;
  /** Default: the tool's own, else that of the settings. */
  readonly timeoutMs?: number | undefined;
  readonly onOutput?: (bytes: Uint8Array) => void;
}

/** How a run ended, before anybody is told in the words of a call or of a task. */
export type ToolEnd =
  | { readonly type: 'result'; readonly result: Result }
  | {
      readonly type: 'failure';
      readonly cause: 'exit' | 'timeout' | 'start' | 'lost';
      readonly message: string;
      readonly exitCode: number | undefined;
      /** What a caller is told. */
      readonly result: Result;
    }
  | { readonly type: 'question'; readonly question: Result }
  | { readonly type: 'error'; readonly error: RpcError };

/** Runs a tool once, in a fresh process. Rejects only for an abort, when everything of it has ended. */
export async function runTool(
  tool: CommandTool,
  run: ToolRun,
  call: CallContext,
  host: CommandHost,
): Promise<ToolEnd> {
  let verdict: ToolVerdict = {};
  const given = host.publish && gatherGiven(host.publish);
  const timeoutMs = run.timeoutMs ?? tool.definition.timeoutMs ?? host.settings.toolTimeoutMs;
  const running = runCommand({
    spawner: host.spawner,
    clock: host.clock,
    template: tool.template.id(),
    stdin: toolEnvelope(tool.definition.name, run.input, call, {
      ...(run.taskId !== undefined && { taskId: run.taskId }),
      inputResponses: run.inputResponses,
      requestState: run.requestState,
    }),
    timeoutMs,
    signal: call.signal,
    onEvent: (line) => {
      const file = given && readGivenFile(line);
      if (file !== undefined) given?.add(file);
      verdict = readToolEvent(line, call) ?? verdict;
    },
    ...(run.onOutput !== undefined && { onOutput: run.onOutput }),
  });
  const outcome = await running.catch(async (error) => {
    await given?.drop();
    throw error;
  });
  tool.template.observe(outcome);
  return withGiven(endOf(tool, outcome, verdict, timeoutMs, host), given);
}

/** Links to files stand behind what the tool says itself; of a call that gives no result none stays. */
async function withGiven(end: ToolEnd, given: GivenFiles | undefined): Promise<ToolEnd> {
  if (end.type !== 'result') {
    await given?.drop();
    return end;
  }
  const links = (await given?.taken()) ?? [];
  if (links.length === 0) return end;
  const { content } = end.result;
  return {
    ...end,
    result: { ...end.result, content: [...(Array.isArray(content) ? content : []), ...links] },
  };
}

function endOf(
  tool: CommandTool,
  outcome: Outcome,
  { error, question, result }: ToolVerdict,
  timeoutMs: number,
  host: CommandHost,
): ToolEnd {
  if (error !== undefined) return { type: 'error', error };
  if (question !== undefined && outcome.type === 'exited') return { type: 'question', question };
  const message = failureMessage(outcome, { timeoutMs, maxOutputBytes: host.settings.maxOutputBytes });
  if (message !== undefined || outcome.type !== 'exited') {
    const text = message ?? 'failed';
    const exitCode = outcome.type === 'exited' ? (outcome.exit.code ?? undefined) : undefined;
    const told = errorResult(text, outcome);
    return { type: 'failure', cause: causes[outcome.type], message: text, exitCode, result: told };
  }
  const structured = tool.definition.outputSchema !== undefined;
  return {
    type: 'result',
    result: result ?? outputResult(outcome.stdout, outcome.stderr, host.agentName, structured),
  };
}

const causes = { exited: 'exit', failed: 'start', timeout: 'timeout', lost: 'lost' } as const;
