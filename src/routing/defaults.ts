import type { Agent } from '#api/agent.ts';
import { staticRootAnnotation } from '#api/labels.ts';
import type { Surface } from './surface.ts';

/** The aggregate that needs no Route stops here; a Route serves more. */
export const mostDefaultAgents = 200;

/**
 * What the home namespace serves without any Route: `/mcp`, `/mcps/<agent>/…`, `/mcp/<agent>/…`,
 * `/apis/<agent>/…`, `/<agent>/<file>` and the static root.
 */
export function defaultSurfaces(
  agents: readonly Agent[],
  namespace: string | undefined,
): { readonly surfaces: readonly Surface[]; readonly notes: readonly string[] } {
  if (namespace === undefined) return { surfaces: [], notes: [] };
  const own = agents.filter((agent) => agent.metadata.namespace === namespace);
  const names = own.map((agent) => agent.metadata.name).sort();
  const roots = own
    .filter((agent) => agent.metadata.annotations?.[staticRootAnnotation] === 'true')
    .sort(byAge);
  const root = roots[0]?.metadata.name;
  const aggregated = names.slice(0, mostDefaultAgents);
  const base = { source: 'defaults', namespace };
  const at = (path: string) => ({ host: '*', path });
  const surfaces: Surface[] = [
    {
      ...base,
      kind: 'mcp',
      place: at('/mcp'),
      agents: aggregated,
      mode: 'Aggregate',
      naming: 'Conflict',
      tools: undefined,
    },
    { ...base, kind: 'agents', place: at('/mcps'), agents: names },
    { ...base, kind: 'agents', place: at('/mcp'), agents: names },
    { ...base, kind: 'api', place: at('/apis'), agents: names },
    { ...base, kind: 'static', place: at('/'), agents: names, root },
  ];
  return { surfaces, notes: [...tooMany(names), ...manyRoots(roots, root)] };
}

function tooMany(names: readonly string[]): string[] {
  if (names.length <= mostDefaultAgents) return [];
  return [
    `/mcp serves the first ${mostDefaultAgents} of ${names.length} agents by name; make Routes for the others.`,
  ];
}

function manyRoots(roots: readonly Agent[], root: string | undefined): string[] {
  if (roots.length < 2) return [];
  const names = roots.map((agent) => agent.metadata.name).join(', ');
  return [`Agents ${names} all have ${staticRootAnnotation}; the oldest, ${root}, is served at "/".`];
}

function byAge(left: Agent, right: Agent): number {
  const a = `${left.metadata.creationTimestamp ?? ''} ${left.metadata.name}`;
  const b = `${right.metadata.creationTimestamp ?? ''} ${right.metadata.name}`;
  return a < b ? -1 : 1;
}
