import { sha256Hex } from '#kit/digest.ts';
import { hasHiddenText } from '#mcp/hidden-text.ts';
import type { Named } from './names-filter.ts';
import type { Naming } from './surface.ts';

export interface Exposure extends Named {
  /** The name that clients see. */
  readonly exposed: string;
}

export interface Exposures {
  /** In the order they came in. Every `exposed` is there once. */
  readonly items: readonly Exposure[];
  /** Names that several agents have, with those agents: prefixed (Conflict) or lost to the first (Never). */
  readonly conflicts: ReadonlyMap<string, readonly string[]>;
}

/** Between an agent's name, which cannot contain it, and the name of what it has. */
export const separator = '_';
/** Longest name that clients see. */
export const mostNameLength = 128;

/** Which names may be shown as they are. */
export type Legality = (name: string) => boolean;
/** What MCP wants of a name. */
export const isLegalName: Legality = (name) => legal.test(name);
const legal = /^[A-Za-z0-9_.-]{1,128}$/;
/** For the names of one agent, which are shown as they are. */
export const hidesNothing: Legality = (name) => !hasHiddenText(name);

/**
 * The names that clients see. `Conflict`: as they are, and `<agent>_<name>` where two agents have one name;
 * `Always`: prefixed; `Never`: as they are, and the first agent by name wins. A name that is made here and taken
 * elsewhere moves the other out of the way, and one that is not legal is shortened with a hash, so the result
 * depends on what there is and not on its order.
 */
export function exposeNames(
  items: readonly Named[],
  naming: Naming,
  isLegal: Legality = isLegalName,
): Exposures {
  const owners = groupByName(items);
  const conflicts = new Map([...owners].filter(([, agents]) => agents.length > 1));
  if (naming === 'Never') {
    const first = items.filter(({ agent, name }) => owners.get(name)?.[0] === agent);
    return { items: distinct(nameAll(first, new Set(), isLegal)), conflicts };
  }
  const prefixed = new Set<string>(naming === 'Always' ? owners.keys() : conflicts.keys());
  for (;;) {
    const named = nameAll(items, prefixed, isLegal);
    const taken = twice(named);
    const hit = named.filter(({ name, exposed }) => taken.has(exposed) && !prefixed.has(name));
    if (hit.length === 0) return { items: distinct(named), conflicts };
    for (const { name } of hit) prefixed.add(name);
  }
}

function nameAll(items: readonly Named[], prefixed: ReadonlySet<string>, isLegal: Legality): Exposure[] {
  return items.map((item) => {
    const { agent, name } = item;
    const wanted = prefixed.has(name) ? `${agent}${separator}${name}` : name;
    return { ...item, exposed: isLegal(wanted) ? wanted : legalName(wanted, item, 8) };
  });
}

/** As much of the name as MCP allows, and so many hex digits of a hash over whose it is and what it is called. */
function legalName(wanted: string, { agent, name }: Named, digits: number): string {
  const hash = sha256Hex(`${agent}\n${name}`).slice(0, digits);
  const kept = wanted.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').slice(0, mostNameLength - digits - 1);
  return `${kept}_${hash}`;
}

/** Somebody may have made a name that looks like a shortened one: that one keeps it, the other gets a longer hash. */
function distinct(items: readonly Exposure[]): Exposure[] {
  const taken = twice(items);
  return items.map((item) => {
    const { agent, name, exposed } = item;
    const isOwn = exposed === name || exposed === `${agent}${separator}${name}`;
    return isOwn || !taken.has(exposed) ? item : { ...item, exposed: legalName(name, item, 64) };
  });
}

/** Names that more than one item is shown by. */
function twice(items: readonly Exposure[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const again = new Set<string>();
  for (const { exposed } of items) (seen.has(exposed) ? again : seen).add(exposed);
  return again;
}

/** By name, its agents in order. */
export function groupByName(items: readonly Named[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const { agent, name } of items) {
    const agents = groups.get(name);
    if (agents === undefined) groups.set(name, [agent]);
    else if (!agents.includes(agent)) agents.push(agent);
  }
  for (const agents of groups.values()) agents.sort();
  return groups;
}
