import { isObject } from '#kit/json.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import { declaresTasks, missingTasks } from '#mcp/tasks/capabilities.ts';
import type { ToolDefinition } from '../config/mcp-config.ts';
import type { CallContext } from '../source.ts';

export type TaskSupport = 'required' | 'optional' | 'forbidden';

/** Whether calls of a tool may be MCP tasks. `async` tools may, unless they say otherwise. */
export function supportOf({ execution, async: queued, syncWindowMs }: ToolDefinition): TaskSupport {
  const mayBeLong = queued === true || syncWindowMs !== undefined;
  return execution?.taskSupport ?? (mayBeLong ? 'optional' : 'forbidden');
}

/** Whether some call of it may become a task, in the words of whichever face. */
export function mayBeTask(definition: ToolDefinition): boolean {
  const { async: queued, syncWindowMs } = definition;
  return queued === true || syncWindowMs !== undefined || supportOf(definition) !== 'forbidden';
}

export interface CallMode {
  /** `call`: runs and is waited for; `window`: so, unless it takes longer than the tool's window; `task`: queued. */
  readonly runs: 'call' | 'window' | 'task';
  /** How a client is told of a task: as MCP says it in its era, or as the Ploinky contract does. */
  readonly told: 'mcp' | 'contract';
}

/**
 * What becomes of a call of this client. Throws RpcError: `missingCapability` for a client of 2026-07-28 that takes no
 * tasks where the tool runs as a task only, and `methodNotFound`, as 2025-11-25 has it, where tool and call do not agree.
 */
export function modeOf(definition: ToolDefinition, params: Params, call: CallContext): CallMode {
  const support = supportOf(definition);
  const wants = takesTask(params, call);
  const told = wants && support !== 'forbidden' ? 'mcp' : 'contract';
  const isPromised = call.era === 'sessions' && wants;
  if (isPromised && support === 'forbidden') throw refused(definition, 'runs as no task');
  if (isPromised) return { runs: 'task', told };
  if (definition.syncWindowMs !== undefined && (wants || support !== 'required'))
    return { runs: 'window', told };
  if (definition.async === true) return { runs: 'task', told };
  if (wants) return { runs: support === 'forbidden' ? 'call' : 'task', told };
  if (support !== 'required') return { runs: 'call', told };
  throw call.era === 'stateless' ? missingTasks() : refused(definition, 'runs as a task only');
}

/** In 2025-11-25 a client asks for a task; in 2026-07-28 it says that it takes one. */
function takesTask(params: Params, { era, capabilities }: CallContext): boolean {
  return era === 'stateless' ? declaresTasks(capabilities) : isObject(params['task']);
}

function refused({ name }: ToolDefinition, why: string): RpcError {
  return new RpcError(errorCodes.methodNotFound, `Tool ${name} ${why}`);
}
