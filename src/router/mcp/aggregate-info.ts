import { eraOf } from '#mcp/eras.ts';
import { firstTasksRevision } from '#mcp/tasks/capabilities.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { About } from '../catalog/abouts.ts';
import { aggregateSessionTasks } from './tasks.ts';

/** What an aggregate says that it can: what the router does itself, and what some agent behind it does. */
export function aggregateCapabilities(about: About, revision: string): Record<string, unknown> {
  const { subscribable, extensions, tasks } = about;
  const isStateless = eraOf(revision) === 'stateless';
  return {
    tools: { listChanged: true },
    resources: { listChanged: true, ...(subscribable.length > 0 && { subscribe: true }) },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
    ...(isStateless && Object.keys(extensions).length > 0 && { extensions }),
    ...(!isStateless &&
      revision >= firstTasksRevision &&
      tasks.length > 0 && { tasks: aggregateSessionTasks }),
  };
}

/** The router's own instructions, then each agent's behind its name, `mostChars` at most; a single agent's alone. */
export function aggregateInstructions(
  surface: McpSurface,
  { instructions }: About,
  mostChars: number,
): string {
  const [only] = surface.agents.length === 1 ? instructions.values() : [];
  if (only !== undefined) return surface.searchAbove === undefined ? only : `${only} ${search}`;
  const own = surface.searchAbove === undefined ? general : `${general} ${search}`;
  let text = own;
  let left = 0;
  for (const [agent, said] of instructions) {
    const part = `\n\n${agent}: ${said}`;
    if (text.length + part.length > mostChars) left += 1;
    else text += part;
  }
  return left === 0 ? text : `${text}\n\n(${left} more agents have instructions that did not fit.)`;
}

const general =
  'The tools, resources and prompts of several Ploinky agents behind one endpoint. A name that two agents have appears as <agent>_<name>.';
const search =
  'When find_tool is listed, the other tools are not: search for one with find_tool and run it with call_tool.';
