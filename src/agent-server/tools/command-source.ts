import { tasksExtension } from '#mcp/eras.ts';
import { errorCodes, type Params, RpcError } from '#mcp/jsonrpc.ts';
import type { Result } from '#mcp/results.ts';
import type { McpDefinition } from '../config/mcp-config.ts';
import { type CallContext, type Catalog, emptyCatalog } from '../source.ts';
import { callCommand } from './call-command.ts';
import type { CommandServices } from './command-host.ts';
import {
  type CommandResource,
  createCommandResource,
  findResource,
  readResource,
} from './command-resource.ts';
import { type CommandTool, createCommandTool } from './command-tool.ts';
import { getPrompt, listedPrompt } from './prompt.ts';
import { mayBeTask } from './task-mode.ts';

/** The commands of one reading of the configuration. Replaced as a whole when the configuration changes. */
export interface CommandSet {
  readonly catalog: Catalog;
  /** What of the configuration was left out or is not checked. */
  readonly problems: readonly string[];
  readonly tools: ReadonlyMap<string, CommandTool>;
  request(method: string, params: Params, call: CallContext): Promise<Result>;
  /** Ends prewarmed processes. Calls that run go on. */
  close(): void;
}

export const emptyCommandSet: CommandSet = {
  catalog: emptyCatalog,
  problems: [],
  tools: new Map(),
  request: async (method) => {
    throw new RpcError(errorCodes.methodNotFound, `Method not found: ${method}`);
  },
  close() {},
};

export function createCommandSet(definition: McpDefinition, services: CommandServices): CommandSet {
  const { host } = services;
  const tools = new Map(definition.tools.map((tool) => [tool.name, createCommandTool(tool, host)]));
  const resources = definition.resources.map((resource) => createCommandResource(resource, host));
  const prompts = new Map(definition.prompts.map((prompt) => [prompt.name, prompt]));

  async function callTool(params: Params, call: CallContext): Promise<Result> {
    const tool = tools.get(String(params['name']));
    if (tool === undefined) throw new RpcError(errorCodes.invalidParams, `Tool ${params['name']} not found`);
    const input = tool.check.validate(params['arguments']);
    return callCommand(tool, input, params, call, services);
  }
  async function read(params: Params, call: CallContext): Promise<Result> {
    const uri = String(params['uri']);
    const match = findResource(resources, uri);
    if (match === undefined) throw resourceNotFound(uri, call);
    return inGate(call, () => readResource(match, uri, call, host));
  }
  async function inGate(call: CallContext, run: () => Promise<Result>): Promise<Result> {
    const leave = await services.gate.enter(call.signal);
    return run().finally(leave);
  }
  return {
    catalog: catalogOf([...tools.values()], resources, definition),
    problems: [...definition.problems, ...[...tools.values()].flatMap((tool) => tool.check.warnings)],
    tools,
    async request(method, params, call) {
      if (method === 'tools/call') return callTool(params, call);
      if (method.startsWith('tasks/')) return services.mcpTasks.request(method, params, call);
      if (method === 'resources/read') return read(params, call);
      if (method === 'completion/complete') return noCompletion;
      const prompt = method === 'prompts/get' ? prompts.get(String(params['name'])) : undefined;
      if (prompt !== undefined) return getPrompt(prompt, params);
      if (method === 'prompts/get') {
        throw new RpcError(errorCodes.invalidParams, `Prompt ${params['name']} not found`);
      }
      throw new RpcError(errorCodes.methodNotFound, `Method not found: ${method}`);
    },
    close() {
      for (const tool of tools.values()) tool.template.close();
      for (const resource of resources) resource.template.close();
    },
  };
}

const noCompletion: Result = { completion: { values: [], total: 0, hasMore: false } };

/** -32602 from 2026-07-28 on, -32002 before. */
export function resourceNotFound(uri: string, call: Pick<CallContext, 'era'>): RpcError {
  const code = call.era === 'stateless' ? errorCodes.invalidParams : errorCodes.resourceNotFound;
  return new RpcError(code, `Resource ${uri} not found`, { uri });
}

function catalogOf(
  tools: readonly CommandTool[],
  resources: readonly CommandResource[],
  definition: McpDefinition,
): Catalog {
  return {
    ...emptyCatalog,
    tools: tools.map((tool) => tool.listed),
    resources: resources.flatMap(({ definition: { uri, ...about } }) =>
      uri === undefined ? [] : [{ uri, ...descriptionOf(about) }],
    ),
    resourceTemplates: resources.flatMap(({ definition: { template, ...about } }) =>
      template === undefined ? [] : [{ uriTemplate: template, ...descriptionOf(about) }],
    ),
    prompts: definition.prompts.map(listedPrompt),
    completions: true,
    ...(tools.some((tool) => mayBeTask(tool.definition)) && taskCapabilities),
  };
}

/** Announced where some tool may become a task: an agent without any is asked for none. */
const taskCapabilities: Pick<Catalog, 'extensions' | 'tasks'> = {
  extensions: { [tasksExtension]: {} },
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
};

interface Described {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
}

function descriptionOf({ name, title, description, mimeType = 'text/plain' }: Described) {
  return {
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    mimeType,
  };
}
