import { isObject } from '#kit/json.ts';
import { tasksExtension } from '#mcp/eras.ts';
import { hasValidParamHeaders } from '#mcp/headers.ts';
import { errorCodes, RpcError } from '#mcp/jsonrpc.ts';
import { sessionTasksIn } from '#mcp/tasks/capabilities.ts';
import type { Prompt, Resource, ResourceTemplate, Tool } from '#mcp/types.ts';
import type { Catalog } from '../source.ts';
import type { UpstreamCall, UpstreamConnection, UpstreamInfo } from './connection.ts';
import { isStateless } from './handshake.ts';

/** Pages of one list that are read; more would be a server that never ends. */
const maxPages = 100;
const maxEntries = 10_000;

/** Everything the upstream lists. Lists whose capability it does not declare are empty. */
export async function readCatalog(
  connection: UpstreamConnection,
  call: UpstreamCall,
  onLeftOut: (tool: Tool) => void = () => undefined,
): Promise<Catalog> {
  const { capabilities, instructions } = connection.info;
  const list = <T>(capability: string, method: string, member: string) =>
    capabilities[capability] === undefined
      ? Promise.resolve([])
      : readList<T>(connection, method, member, call);
  const [tools, resources, resourceTemplates, prompts] = await Promise.all([
    list<Tool>('tools', 'tools/list', 'tools'),
    list<Resource>('resources', 'resources/list', 'resources'),
    list<ResourceTemplate>('resources', 'resources/templates/list', 'resourceTemplates'),
    list<Prompt>('prompts', 'prompts/list', 'prompts'),
  ]);
  const resourceCapability = capabilities['resources'];
  return {
    tools: isStateless(connection.info) ? tools.filter(isCallable(onLeftOut)) : tools,
    resources,
    resourceTemplates,
    prompts,
    completions: capabilities['completions'] !== undefined,
    subscriptions: isObject(resourceCapability) && resourceCapability['subscribe'] === true,
    instructions,
    extensions: extensionsOf(connection.info),
    tasks: isStateless(connection.info) ? undefined : sessionTasksIn(capabilities),
  };
}

/** Clients have to leave out a tool whose `x-mcp-header` they could not carry out. */
function isCallable(onLeftOut: (tool: Tool) => void): (tool: Tool) => boolean {
  return (tool) => {
    const isValid = hasValidParamHeaders(tool.inputSchema);
    if (!isValid) onLeftOut(tool);
    return isValid;
  };
}

/** Only extensions whose methods are passed on: a client may take an announced one at its word. */
function extensionsOf({ stateless, capabilities }: UpstreamInfo): Record<string, unknown> {
  // Tasks of 2025-11-25 are translated for clients that the server does not serve itself.
  if (stateless === undefined)
    return sessionTasksIn(capabilities) === undefined ? {} : { [tasksExtension]: {} };
  const declared = stateless.capabilities['extensions'];
  const tasks = isObject(declared) ? declared[tasksExtension] : undefined;
  return tasks === undefined ? {} : { [tasksExtension]: tasks };
}

async function readList<T>(
  connection: UpstreamConnection,
  method: string,
  member: string,
  call: UpstreamCall,
): Promise<T[]> {
  const entries: T[] = [];
  let cursor: unknown;
  try {
    for (let page = 0; page < maxPages && entries.length < maxEntries; page++) {
      const result = await connection.request(method, cursor === undefined ? {} : { cursor }, call);
      if (Array.isArray(result[member])) entries.push(...(result[member].filter(isObject) as T[]));
      cursor = result['nextCursor'];
      if (typeof cursor !== 'string') break;
    }
  } catch (error) {
    // Servers that declare a capability need not serve all of its methods.
    if (!(error instanceof RpcError) || error.code !== errorCodes.methodNotFound) throw error;
  }
  return entries.slice(0, maxEntries);
}
