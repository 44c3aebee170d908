import { oncePerObject } from '#kit/memo.ts';
import { wholeOf } from './limits.ts';
import { join } from './route-surfaces.ts';
import { hasName } from './sorted-names.ts';
import type { McpSurface, Surface } from './surface.ts';
import type { RoutingTable } from './table.ts';

const kept = oncePerObject((_surface: Surface) => new Map<string, McpSurface>());

/**
 * One agent's own endpoint as a surface, with the agent's names: for where it cannot pass through as it is. The same
 * object each time.
 */
export function agentSurfaceOf(surface: Surface, agent: string): McpSurface {
  const known = kept(surface).get(agent);
  if (known !== undefined) return known;
  const { source, namespace, place, access } = surface;
  const made: McpSurface = {
    ...{ kind: 'mcp', mode: 'Single', naming: 'Never', tools: undefined, source, namespace },
    place: { host: place.host, path: join(place.path, `/${agent}/mcp`) },
    agents: [agent],
    ...(access && { access }),
  };
  kept(surface).set(agent, made);
  ofAgents.add(made);
  return made;
}

const ofAgents = new WeakSet<McpSurface>();

/** Whether it is one that `agentSurfaceOf` made: names there are the agent's own. */
export function isAgentSurface(surface: McpSurface): boolean {
  return ofAgents.has(surface);
}

/** The surface as the table has it now; undefined when it is served no more. */
export function surfaceNow(table: RoutingTable, surface: McpSurface): McpSurface | undefined {
  const { source, place } = surface;
  for (const other of table.surfaces) {
    if (other.source !== source || other.place.host !== place.host) continue;
    if (other.kind === 'mcp' && other.place.path === place.path) return other;
    const [agent = ''] = wholeOf(surface).agents;
    if (other.kind === 'agents' && hasName(other.agents, agent)) {
      const own = agentSurfaceOf(other, agent);
      if (own.place.path === place.path) return own;
    }
  }
  return undefined;
}
