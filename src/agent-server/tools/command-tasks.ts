import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import type { TaskTools } from '../tasks/task-tools.ts';
import type { CommandHost } from './command-host.ts';
import type { CommandTool } from './command-tool.ts';
import { executeToolTask } from './tool-task.ts';

/** Tasks of the commands that are configured when an attempt begins. */
export function commandTasks(tools: () => ReadonlyMap<string, CommandTool>, host: CommandHost): TaskTools {
  return {
    admit(name, input) {
      const tool = tools().get(name);
      if (tool === undefined) throw new RpcError(errorCodes.invalidParams, `Tool ${name} not found`);
      const { timeout, timeoutMs, retries } = tool.definition;
      return { input: tool.check.validate(input), timeoutMs: timeout ?? timeoutMs, retries };
    },
    knows: (name) => tools().has(name),
    limitOf: (name) => tools().get(name)?.definition.maxParallel,
    execute: (lease, hooks) => executeToolTask(lease, tools().get(lease.task.toolName), host, hooks),
  };
}
