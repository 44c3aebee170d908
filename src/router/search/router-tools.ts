import type { McpSurface } from '#routing/surface.ts';
import type { Item } from '../catalog/list-kinds.ts';
import type { View } from '../catalog/view.ts';

/** The two tools that clients of a Route with `optimize.mode: Search` see. */
export const findToolName = 'find_tool';
export const callToolName = 'call_tool';

/** Whether a surface shows the two tools instead of its own: by the Route, and when it has enough of them. */
export function showsSearch(surface: McpSurface, view: View): boolean {
  return surface.searchAbove !== undefined && view.byExposed.size > surface.searchAbove;
}

/**
 * Whether a call of `name` is the router's own to answer. A client that still has an older list may use the
 * two tools while every tool is shown again, unless an agent has a tool of that name.
 */
export function isRouterTool(surface: McpSurface, view: View, name: string): boolean {
  if (surface.searchAbove === undefined || (name !== findToolName && name !== callToolName)) return false;
  return showsSearch(surface, view) || !view.byExposed.has(name);
}

/** The two tools as `tools/list` says them, in both revisions. What call_tool does is up to the tool it calls. */
export function routerTools(view: View): readonly Item[] {
  return [findTool(view), callTool];
}

const toolSchema = {
  type: 'object',
  properties: {
    agent: { type: 'string' },
    name: { type: 'string' },
    title: { type: 'string' },
    description: { type: 'string' },
    inputSchema: { type: 'object' },
    annotations: { type: 'object' },
  },
  required: ['agent', 'name', 'inputSchema'],
};

function findTool(view: View): Item {
  return {
    name: findToolName,
    title: 'Find tool',
    description: `Searches ${view.items.length} tools that are not listed here, ${agentsOf(view)}. Returns those that fit best, with their inputSchema; run one with ${callToolName}.`,
    inputSchema: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'What the tool should do and to what. Several words for the same thing find more.',
        },
        limit: { type: 'integer', minimum: 1, description: 'Most tools to return.' },
        agent: { type: 'string', description: 'Only tools of this agent.' },
      },
      required: ['query'],
    },
    outputSchema: {
      type: 'object',
      properties: {
        tools: { type: 'array', items: toolSchema },
        missing: { type: 'array', items: { type: 'object' } },
      },
      required: ['tools'],
    },
    annotations: { title: 'Find tool', readOnlyHint: true, openWorldHint: false },
  };
}

const callTool: Item = {
  name: callToolName,
  title: 'Call tool',
  description: `Runs a tool that ${findToolName} returned and gives its answer unchanged.`,
  inputSchema: {
    type: 'object',
    properties: {
      name: { type: 'string', description: `Name of the tool, as ${findToolName} says it.` },
      arguments: { type: 'object', description: 'Arguments by the inputSchema of the tool.' },
    },
    required: ['name'],
  },
};

const mostAgentNames = 24;

/** A model cannot search for what it does not suspect, so the agents are named. */
function agentsOf(view: View): string {
  const agents = [...new Set(view.items.map((item) => item.agent))];
  const more = agents.length > mostAgentNames ? ` and ${agents.length - mostAgentNames} more` : '';
  return `of ${agents.slice(0, mostAgentNames).join(', ')}${more}`;
}
