import type { Naming, ToolFilter } from './surface.ts';

/** What an agent calls something, and under which agent. */
export interface Named {
  readonly agent: string;
  readonly name: string;
}

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

/**
 * The names that clients see. `Conflict`: as they are, and `<agent>_<name>` where two agents have one name;
 * `Always`: prefixed; `Never`: as they are, and the first agent by name wins. The separator is "_" because
 * agent names cannot contain it. A name that is made here and taken elsewhere moves the other out of the way,
 * so the result depends on what there is and not on its order.
 */
export function exposeNames(items: readonly Named[], naming: Naming): Exposures {
  const owners = groupByName(items);
  const conflicts = new Map([...owners].filter(([, agents]) => agents.length > 1));
  if (naming === 'Never') return { items: firstOfEach(items), conflicts };
  const prefixed = new Set<string>(naming === 'Always' ? owners.keys() : conflicts.keys());
  for (;;) {
    const made = new Set(items.filter((item) => prefixed.has(item.name)).map(prefix));
    const hit = [...owners.keys()].filter((name) => !prefixed.has(name) && made.has(name));
    if (hit.length === 0) break;
    for (const name of hit) prefixed.add(name);
  }
  const named = items.map((item) => ({
    ...item,
    exposed: prefixed.has(item.name) ? prefix(item) : item.name,
  }));
  return { items: named, conflicts };
}

function prefix(item: Named): string {
  return `${item.agent}_${item.name}`;
}

function groupByName(items: readonly Named[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const item of items) {
    const agents = groups.get(item.name) ?? [];
    if (!agents.includes(item.agent)) agents.push(item.agent);
    groups.set(item.name, agents.sort());
  }
  return groups;
}

function firstOfEach(items: readonly Named[]): Exposure[] {
  const winners = new Map<string, string>();
  for (const { name, agent } of items) {
    const winner = winners.get(name);
    if (winner === undefined || agent < winner) winners.set(name, agent);
  }
  return items
    .filter((item) => winners.get(item.name) === item.agent)
    .map((item) => ({ ...item, exposed: item.name }));
}

/** Names that a Route's filter lets through, renamed as it says. Matching is on the agent's own names. */
export function filterNames(items: readonly Named[], filter: ToolFilter | undefined): RenamedItem[] {
  return items
    .filter((item) => passes(item, filter))
    .map((item) => ({ ...item, shown: shownName(item, filter) }));
}

export interface RenamedItem extends Named {
  /** The name after renaming, before prefixes. */
  readonly shown: string;
}

function passes({ name }: Named, filter: ToolFilter | undefined): boolean {
  if (filter?.deny?.some((glob) => matchesGlob(name, glob))) return false;
  return filter?.allow === undefined || filter.allow.some((glob) => matchesGlob(name, glob));
}

function shownName({ agent, name }: Named, filter: ToolFilter | undefined): string {
  const rename = filter?.rename?.find(
    (entry) => entry.from === name && (entry.agent === undefined || entry.agent === agent),
  );
  return rename?.to ?? name;
}

/** `*` is any run of characters, `?` any one. Linear in the product of the lengths, whatever the glob. */
export function matchesGlob(text: string, glob: string): boolean {
  let at = 0;
  let globAt = 0;
  let star = -1;
  let resume = 0;
  while (at < text.length) {
    const symbol = glob[globAt];
    if (symbol === '*') {
      star = globAt++;
      resume = at;
    } else if (symbol === '?' || symbol === text[at]) {
      at++;
      globAt++;
    } else if (star >= 0) {
      globAt = star + 1;
      at = ++resume;
    } else return false;
  }
  while (glob[globAt] === '*') globAt++;
  return globAt === glob.length;
}
