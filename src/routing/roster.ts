import type { Agent } from '#api/agent.ts';
import { sha256Hex } from '#kit/digest.ts';
import { canonicalJson } from '#kit/json.ts';
import { oncePerObject } from '#kit/memo.ts';

/** The Agents of one namespace, as Routes choose among them. */
export interface Roster {
  readonly agents: readonly Agent[];
  readonly names: ReadonlySet<string>;
  /** Of names and labels in the order of `agents`: with the same digest every Route chooses the same. */
  readonly digest: string;
}

const line = oncePerObject(
  ({ metadata }: Agent) => `${metadata.name} ${canonicalJson(metadata.labels ?? {})}`,
);

/** Agents by namespace. */
export function rostersOf(agents: readonly Agent[]): (namespace: string) => Roster {
  const byNamespace = new Map<string, Agent[]>();
  for (const agent of agents) {
    const namespace = agent.metadata.namespace ?? '';
    const own = byNamespace.get(namespace);
    if (own === undefined) byNamespace.set(namespace, [agent]);
    else own.push(agent);
  }
  const rosters = new Map<string, Roster>();
  return (namespace) => {
    const known = rosters.get(namespace);
    if (known !== undefined) return known;
    const roster = rosterOf(byNamespace.get(namespace) ?? []);
    rosters.set(namespace, roster);
    return roster;
  };
}

function rosterOf(agents: readonly Agent[]): Roster {
  return {
    agents,
    names: new Set(agents.map((agent) => agent.metadata.name)),
    digest: sha256Hex(agents.map(line).join('\n')),
  };
}
