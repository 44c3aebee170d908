import { isObject } from '#kit/json.ts';
import { suggest } from './arguments/suggest.ts';
import { CliError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import type { McpClient } from './mcp-client.ts';
import type { Router } from './router.ts';
import { harmless } from './terminal.ts';

export interface ListedTool {
  readonly name: string;
  readonly agent: string | undefined;
  readonly title: string | undefined;
  readonly description: string;
  readonly inputSchema: Record<string, unknown>;
}

const maxPages = 100;

/** Every tool of all agents, or of one. */
export async function listTools(client: McpClient, agent: string | undefined): Promise<ListedTool[]> {
  const tools: ListedTool[] = [];
  let cursor: unknown;
  for (let page = 0; page < maxPages; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const result = await client
      .call({ method: 'tools/list', params, path: mcpPath(client.router, agent) })
      .catch((error: unknown) => {
        throw isNotFound(error) && agent !== undefined ? noAgent(agent) : error;
      });
    const listed = Array.isArray(result['tools']) ? result['tools'].filter(isObject) : [];
    tools.push(...listed.map((tool) => toListed(tool, client.router.path === undefined ? agent : undefined)));
    cursor = result['nextCursor'];
    if (typeof cursor !== 'string') break;
  }
  if (client.router.path === undefined || agent === undefined) return tools;
  const own = tools.filter((tool) => tool.agent === agent);
  if (own.length === 0) throw noAgent(agent);
  return own;
}

function isNotFound(error: unknown): boolean {
  return error instanceof CliError && error.exitCode === exitCodes.notFound;
}

function noAgent(name: string): CliError {
  const message = `there is no agent '${name}' that clients may call`;
  return new CliError(exitCodes.notFound, message, '`ploinky get agents` lists them.');
}

/** Where the router serves all agents, or one; a Route has only one place for all of its agents. */
export function mcpPath(router: Router, agent: string | undefined): string {
  if (router.path !== undefined) return router.path;
  return agent === undefined ? '/mcp' : `/mcps/${encodeURIComponent(agent)}/mcp`;
}

function toListed(tool: Record<string, unknown>, agent: string | undefined): ListedTool {
  const text = (name: string) => (typeof tool[name] === 'string' ? (tool[name] as string) : undefined);
  return {
    name: text('name') ?? '',
    agent: agent ?? agentOf(tool),
    title: text('title'),
    description: text('description') ?? '',
    inputSchema: isObject(tool['inputSchema']) ? tool['inputSchema'] : {},
  };
}

/** The aggregate says in `annotations.router.agent` whose tool it is. */
function agentOf(tool: Record<string, unknown>): string | undefined {
  for (const holder of [tool['annotations'], tool['_meta']]) {
    const router = isObject(holder) ? holder['router'] : undefined;
    if (isObject(router) && typeof router['agent'] === 'string') return router['agent'];
  }
  return undefined;
}

/** The tool of that name. Throws `notFound`, or `usage` when several agents have it. */
export async function findTool(
  tools: readonly ListedTool[],
  { name, agent }: { readonly name: string; readonly agent: string | undefined },
  notReady: () => Promise<readonly string[]>,
): Promise<ListedTool> {
  const exact = tools.filter((tool) => tool.name === name);
  // Where two agents have one name, a Route shows it with the agent's in front.
  const found =
    exact.length > 0
      ? exact
      : tools.filter((tool) => agent !== undefined && tool.name === `${agent}_${name}`);
  const [tool] = found;
  if (tool === undefined) throw noTool(tools, name, await notReady());
  if (found.length === 1) return tool;
  const agents = found.map(({ agent }) => agent ?? '?').join(', ');
  throw new CliError(
    exitCodes.usage,
    `several agents have a tool '${name}': ${agents}`,
    'Name one with --agent.',
  );
}

/** That no tool has the name: what it may have been meant for, and who is away. */
export function noTool(tools: readonly ListedTool[], name: string, notReady: readonly string[]): CliError {
  const names = tools.map((other) => other.name);
  const containing = names.filter((other) => other.toLowerCase().includes(name.toLowerCase()));
  const close = [...new Set([...containing, ...suggest(name, names)])].slice(0, 5).map(harmless);
  const hints = [
    close.length > 0 ? `Did you mean ${close.join(', ')}?` : '`ploinky tools` lists them.',
    ...(notReady.length > 0 ? [`Not ready now: ${notReady.join(', ')}.`] : []),
  ];
  const message = `Tool '${name}' not found on any active agent.`;
  return new CliError(exitCodes.notFound, message, hints.join(' '));
}
