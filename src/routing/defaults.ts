import { staticRootAnnotation } from '#api/labels.ts';
import { digestOf } from '#kit/digest.ts';
import { digestOfNames, type SortedNames } from './sorted-names.ts';
import type { Surface } from './surface.ts';

/** The aggregate that needs no Route stops here; a Route serves more. */
export const mostDefaultAgents = 200;

export interface Defaults {
  readonly surfaces: readonly Surface[];
  readonly notes: readonly string[];
}

/** What the defaults of the home namespace are made of. */
export interface Home {
  readonly namespace: string;
  /** Of all its agents. */
  readonly names: SortedNames;
  /** Names of those that want to be the static root, the oldest first. */
  readonly roots: readonly string[];
}

/**
 * What the home namespace serves without any Route: `/mcp`, `/mcps/<agent>/…`, `/mcp/<agent>/…`,
 * `/apis/<agent>/…`, `/blobs/<agent>`, `/<agent>/<file>` and the static root.
 */
export function defaultSurfaces({ namespace, names, roots }: Home): Defaults {
  const root = roots[0];
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
    { ...base, kind: 'blobs', place: at('/blobs'), agents: names },
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

function manyRoots(roots: readonly string[], root: string | undefined): string[] {
  if (roots.length < 2) return [];
  return [
    `Agents ${roots.join(', ')} all have ${staticRootAnnotation}; the oldest, ${root}, is served at "/".`,
  ];
}

/** They share lists of all agents' names, which would make up most of the work. */
export function digestOfDefaults(surfaces: readonly Surface[]): string {
  return digestOf(
    surfaces.map((surface) => ({ ...surface, agents: digestOfNames(surface.agents) })),
    32,
  );
}
