import type { ItemFilter } from './surface.ts';

/** What an agent calls something, and under which agent. */
export interface Named {
  readonly agent: string;
  readonly name: string;
}

export interface RenamedItem extends Named {
  /** The name after renaming, before prefixes. */
  readonly shown: string;
}

/** Names that a Route's filter lets through, renamed as it says. Matching is on the agent's own names. */
export function filterNames(items: readonly Named[], filter: ItemFilter | undefined): RenamedItem[] {
  return items
    .filter(({ name }) => passes(name, filter))
    .map((item) => ({ ...item, shown: renamed(item, filter) }));
}

/** True when the filter shows what an agent calls so. */
export function passes(name: string, filter: ItemFilter | undefined): boolean {
  if (isDenied(name, filter)) return false;
  return filter?.allow === undefined || filter.allow.some((glob) => matchesGlob(name, glob));
}

export function isDenied(name: string, filter: ItemFilter | undefined): boolean {
  return filter?.deny?.some((glob) => matchesGlob(name, glob)) ?? false;
}

/** What a Route calls it: by the first rename that fits, else as the agent does. */
export function renamed({ agent, name }: Named, filter: ItemFilter | undefined): string {
  return firstFit(filter, agent, (rule) => fit(name, rule.from, rule.to)) ?? name;
}

/** What the agent calls what a Route calls so: the way back of `renamed`. */
export function renamedBack({ agent, name }: Named, filter: ItemFilter | undefined): string {
  return firstFit(filter, agent, (rule) => fit(name, rule.to, rule.from)) ?? name;
}

type Rule = NonNullable<ItemFilter['rename']>[number];

function firstFit(
  filter: ItemFilter | undefined,
  agent: string,
  look: (rule: Rule) => string | undefined,
): string | undefined {
  for (const rule of filter?.rename ?? []) {
    if (rule.agent !== undefined && rule.agent !== agent) continue;
    const name = look(rule);
    if (name !== undefined) return name;
  }
  return undefined;
}

/** `to`, with what the one `*` of `from` stands for in the place of its own; undefined: `from` does not fit. */
function fit(name: string, from: string, to: string): string | undefined {
  const star = from.indexOf('*');
  if (star < 0) return name === from ? to : undefined;
  const start = from.slice(0, star);
  const end = from.slice(star + 1);
  if (name.length < start.length + end.length || !name.startsWith(start) || !name.endsWith(end))
    return undefined;
  return to.replace('*', () => name.slice(start.length, name.length - end.length));
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
