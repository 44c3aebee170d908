import type { IncomingHttpHeaders } from 'node:http';
import { isObject } from '#kit/json.ts';
import { latestSessionRevision } from '#mcp/eras.ts';
import type { JsonRpcRequest } from '#mcp/jsonrpc.ts';
import { wholeOf } from '#routing/limits.ts';
import type { McpSurface } from '#routing/surface.ts';
import { bindMessage } from '#wire/binding.ts';
import type { Caller } from '../../caller.ts';
import type { ListKind } from '../../catalog/list-kinds.ts';
import type { View } from '../../catalog/view.ts';
import { RouterError } from '../../errors.ts';
import { refusePart } from '../../mcp/backends.ts';
import { exposeInResult } from '../../mcp/expose-uris.ts';
import { locate, locateUri, type Owner } from '../../mcp/locate.ts';
import { readAnswer } from '../../mcp/read-answer.ts';
import type { Services } from '../../services.ts';
import { collect } from '../../upstream/collect.ts';
import { mcpRequestHeaders } from '../../upstream/headers.ts';

/** Ploinky's plain commands: JSON without `jsonrpc`, answered without MCP around it (contract §5.1). */
export interface CommandAnswer {
  readonly status: number;
  readonly body: unknown;
}

interface Command {
  readonly services: Services;
  readonly surface: McpSurface;
  readonly caller: Caller;
  readonly body: Record<string, unknown>;
  readonly headers: IncomingHttpHeaders;
}

export async function runCommand(
  services: Services,
  surface: McpSurface,
  caller: Caller,
  body: Record<string, unknown>,
  headers: IncomingHttpHeaders,
): Promise<CommandAnswer> {
  const name = typeof body['command'] === 'string' ? body['command'] : '';
  const run = commands.get(name);
  if (run === undefined) return refusal(400, `unknown command '${name}'`);
  if (wholeOf(surface).agents.length === 0) return refusal(503, 'no agents are registered');
  try {
    return await run({ services, surface, caller, body, headers });
  } catch (error) {
    if (error instanceof RouterError) return routerRefusal(error);
    throw error;
  }
}

const commands = new Map<string, (command: Command) => Promise<CommandAnswer> | CommandAnswer>([
  ['list_tools', listTools],
  ['methods', listTools],
  ['tools', listTools],
  ['tools/list', listTools],
  ['list_resources', listResources],
  ['resources', listResources],
  ['resources/list', listResources],
  ['tool', callTool],
  ['tools/call', callTool],
  ['resources/read', readResource],
  ['ping', ping],
  ['status', () => refusal(400, 'status command is not supported on aggregated endpoint')],
]);

async function listTools({ services, surface }: Command): Promise<CommandAnswer> {
  const view = await services.views.of(surface, 'tools');
  refusePart(surface, view);
  const tools = pick(view, ['name', 'title', 'description', 'inputSchema', 'annotations']);
  return { status: listStatus(view), body: { tools, emptyAgents: view.emptyAgents, errors: view.errors } };
}

async function listResources({ services, surface }: Command): Promise<CommandAnswer> {
  const view = await services.views.of(surface, 'resources');
  refusePart(surface, view);
  const resources = pick(view, ['name', 'title', 'uri', 'description', 'mimeType', 'annotations']);
  return { status: listStatus(view), body: { resources, errors: view.errors } };
}

/** 502 when nobody answered: an empty list would look like a fact. */
function listStatus(view: View): number {
  return view.errors.length > 0 && view.items.length === 0 && view.emptyAgents.length === 0 ? 502 : 200;
}

function pick(view: View, members: readonly string[]): Record<string, unknown>[] {
  return view.items.map(({ item }) =>
    Object.fromEntries(
      members.filter((member) => item[member] !== undefined).map((member) => [member, item[member]]),
    ),
  );
}

const ownMembers = new Set(['command', 'agent', 'arguments']);
const namingMembers = ['tool', 'toolName', 'name'] as const;

/** The first of tool, toolName and name is the tool; the others, and whatever else is there, are arguments. */
async function callTool(command: Command): Promise<CommandAnswer> {
  const { services, surface, body } = command;
  const naming = namingMembers.find((member) => typeof body[member] === 'string');
  const name = naming === undefined ? '' : String(body[naming]);
  if (name === '') {
    return refusal(400, 'missing tool name (use tool=<name> or toolName=<name>)');
  }
  const owner = await ownerOf('tools', name, command);
  const extra = Object.fromEntries(
    Object.entries(body).filter(([key]) => key !== naming && !ownMembers.has(key)),
  );
  const given = isObject(body['arguments']) ? body['arguments'] : {};
  const answer = await ask(services, command, `${surface.namespace}/${owner.agent}`, 'tools/call', {
    name: owner.name,
    arguments: { ...extra, ...given },
  });
  if ('status' in answer) return answer;
  return { status: 200, body: { result: answer.result, agent: owner.agent, tool: owner.name, errors: [] } };
}

async function readResource(command: Command): Promise<CommandAnswer> {
  const { services, surface, body } = command;
  const uri = body['uri'];
  if (typeof uri !== 'string' || uri === '') return refusal(400, 'missing resource uri (use uri=<uri>)');
  const wanted = checkedAgent(command);
  const owner = await locateUri(services, surface, uri, wanted);
  const answer = await ask(services, command, `${surface.namespace}/${owner.agent}`, 'resources/read', {
    uri: owner.name,
  });
  if ('status' in answer) return answer;
  const resource = exposeInResult('resources/read', answer.result, (own) => (own === owner.name ? uri : own));
  return { status: 200, body: { resource, agent: owner.agent, errors: [] } };
}

async function ping(command: Command): Promise<CommandAnswer> {
  const agent = checkedAgent(command);
  if (agent === undefined) return refusal(400, 'missing agent for ping');
  const answer = await ask(command.services, command, `${command.surface.namespace}/${agent}`, 'ping', {});
  return 'status' in answer ? answer : { status: 200, body: { result: {}, agent } };
}

function ownerOf(kind: ListKind, name: string, command: Command): Owner | Promise<Owner> {
  return locate(command.services, command.surface, kind, name, checkedAgent(command));
}

function checkedAgent({ surface, body }: Command): string | undefined {
  const agent = body['agent'];
  if (typeof agent !== 'string' || agent === '') return undefined;
  if (surface.agents.includes(agent)) return agent;
  throw new RouterError('NotFound', `agent '${agent}' is not registered`);
}

/** Asks an agent in the sessions era, without a session: what is kept nowhere needs none. */
async function ask(
  services: Services,
  { caller, headers }: Command,
  agent: string,
  method: string,
  params: Record<string, unknown>,
): Promise<{ result: Record<string, unknown> } | CommandAnswer> {
  const message: JsonRpcRequest = { jsonrpc: '2.0', id: 1, method, params };
  const { traceparent, tracestate } = mcpRequestHeaders(headers);
  const call = {
    agent,
    method: 'POST',
    path: '/mcp',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': latestSessionRevision,
      ...(traceparent !== undefined && { traceparent }),
      ...(tracestate !== undefined && { tracestate }),
    },
    body: JSON.stringify(message),
    binding: bindMessage(message),
    caller,
    mcp: { revision: latestSessionRevision },
  };
  const { answerBytes: maxBytes, answerDepth: maxDepth } = services.limits;
  const collected = await collect(services.sender, call, { maxBytes });
  const answer = readAnswer(collected, 1, { agent: agent.slice(agent.indexOf('/') + 1), maxDepth });
  if (answer === undefined) return refusal(502, 'the agent sent no JSON-RPC answer');
  if ('error' in answer) return refusal(500, `MCP error ${answer.error.code}: ${answer.error.message}`);
  return { result: answer.result };
}

function routerRefusal(error: RouterError): CommandAnswer {
  switch (error.code) {
    case 'Ambiguous':
      return { status: 409, body: { error: error.message, agents: error.agents, errors: [] } };
    case 'NotFound':
      return refusal(404, error.message);
    case 'AgentUnavailable':
    case 'NoKeys':
      return refusal(503, error.message);
    default:
      return refusal(502, error.message);
  }
}

function refusal(status: number, message: string): CommandAnswer {
  return { status, body: { error: message, errors: [] } };
}
