import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { Tool } from '#mcp/types.ts';
import { readInputSchema } from '../config/field-map.ts';
import type { ToolDefinition } from '../config/mcp-config.ts';
import type { CallContext } from '../source.ts';
import { type ArgumentCheck, compileArguments } from './arguments.ts';
import { type CommandHost, type CommandTemplate, defineCommand } from './command-host.ts';
import { toolEnvelope } from './envelope.ts';
import { failureMessage, type Outcome, runCommand } from './run-command.ts';
import { readToolEvent, type ToolVerdict } from './tool-events.ts';
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
  return {
    definition,
    check: compileArguments(name, schema, strips, host.settings.maxValidationMs),
    template: defineCommand(definition, host, definition.prewarm ?? 0),
    listed: {
      name,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      inputSchema: schema,
      ...(outputSchema !== undefined && { outputSchema }),
      ...(annotations !== undefined && { annotations }),
    },
  };
}

export interface ToolRun {
  readonly input: Record<string, unknown>;
  /** The params of the request: inputResponses and requestState are read from them. */
  readonly params: Params;
  readonly taskId?: string;
  readonly onOutput?: (bytes: Uint8Array) => void;
}

/** Runs a tool once, in a fresh process. `failed` tells an error result from a good one without looking into it. */
export async function runTool(
  tool: CommandTool,
  run: ToolRun,
  call: CallContext,
  host: CommandHost,
): Promise<{ result: Result; failure: string | undefined }> {
  let verdict: ToolVerdict = {};
  const timeoutMs = tool.definition.timeoutMs ?? host.settings.toolTimeoutMs;
  const outcome = await runCommand({
    spawner: host.spawner,
    clock: host.clock,
    template: tool.template.id(),
    stdin: toolEnvelope(tool.definition.name, run.input, call, {
      ...(run.taskId !== undefined && { taskId: run.taskId }),
      inputResponses: run.params['inputResponses'],
      requestState: run.params['requestState'],
    }),
    timeoutMs,
    signal: call.signal,
    onEvent: (line) => {
      verdict = readToolEvent(line, call) ?? verdict;
    },
    ...(run.onOutput !== undefined && { onOutput: run.onOutput }),
  });
  tool.template.observe(outcome);
  return toResult(tool, outcome, verdict, timeoutMs, call, host);
}

function toResult(
  tool: CommandTool,
  outcome: Outcome,
  verdict: ToolVerdict,
  timeoutMs: number,
  call: CallContext,
  host: CommandHost,
): { result: Result; failure: string | undefined } {
  if (verdict.error !== undefined) throw verdict.error;
  if (verdict.question !== undefined && outcome.type === 'exited') return askClient(verdict.question, call);
  const failure = failureMessage(outcome, { timeoutMs, maxOutputBytes: host.settings.maxOutputBytes });
  if (failure !== undefined || outcome.type !== 'exited') {
    return { result: errorResult(failure ?? 'failed', outcome), failure: failure ?? 'failed' };
  }
  const structured = tool.definition.outputSchema !== undefined;
  const result = verdict.result ?? outputResult(outcome.stdout, outcome.stderr, host.agentName, structured);
  return { result, failure: undefined };
}

function askClient(question: Result, call: CallContext): { result: Result; failure: undefined } {
  if (call.era === 'stateless') return { result: question, failure: undefined };
  throw new RpcError(
    errorCodes.internal,
    'The tool asks the client a question, which needs a client of revision 2026-07-28',
  );
}
