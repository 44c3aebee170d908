import type { Clock } from '#kit/clock.ts';
import { isObject } from '#kit/json.ts';
import { tasksExtension } from '#mcp/eras.ts';
import { withoutHiddenText } from '#mcp/hidden-text.ts';
import type { McpSurface } from '#routing/surface.ts';
import type { RoutingTable } from '#routing/table.ts';
import type { Target } from '#routing/target.ts';
import type { RouterLimits } from '../limits.ts';
import type { TableSource } from '../sources.ts';
import type { Catalog, Part } from './catalog.ts';
import type { Item } from './list-kinds.ts';
import { partsWithin } from './within.ts';

/** What the agents of a surface say of themselves. */
export interface About {
  /** Agents that tell changes of resources. */
  readonly subscribable: readonly string[];
  /** Of each agent that has some, cut to the limit. */
  readonly instructions: ReadonlyMap<string, string>;
  /** Merged. */
  readonly extensions: Readonly<Record<string, unknown>>;
  /** Agents with tasks. */
  readonly tasks: readonly string[];
}

export interface Abouts {
  /** As far as the agents have said it before `limits.aboutWaitMs`; what they say later counts the next time. */
  of(surface: McpSurface): Promise<About>;
}

export interface AboutsOptions {
  readonly tables: TableSource;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly limits: Pick<RouterLimits, 'aboutWaitMs' | 'instructionsChars'>;
}

interface Kept {
  readonly version: number;
  readonly freshUntil: number;
  readonly about: About;
}

interface Making {
  readonly version: number;
  readonly about: Promise<About>;
}

export function createAbouts({ tables, catalog, clock, limits }: AboutsOptions): Abouts {
  const kept = new WeakMap<McpSurface, Kept>();
  /** However many wait, it is made once. */
  const making = new WeakMap<McpSurface, Making>();

  async function make(surface: McpSurface): Promise<About> {
    const table = tables.current();
    const targets = targetsOf(surface, table);
    const asked = targets.map((target) => ({
      part: catalog.part(target, 'about'),
      late: (): Part => ({ agent: target.name, error: 'late', last: catalog.last(target, 'about') }),
    }));
    const parts = await partsWithin(asked, limits.aboutWaitMs, clock);
    const about = mergeAbouts(parts, limits.instructionsChars);
    const version = tables.current() === table ? catalog.version : -1;
    kept.set(surface, { version, freshUntil: catalog.freshUntil(targets, 'about'), about });
    return about;
  }
  return {
    async of(surface) {
      const { version } = catalog;
      const known = kept.get(surface);
      if (known?.version === version && clock.monotonic() < known.freshUntil) return known.about;
      const begun = making.get(surface);
      if (begun?.version === version) return begun.about;
      const about = make(surface).finally(() => making.delete(surface));
      making.set(surface, { version, about });
      return about;
    },
  };
}

function targetsOf({ namespace, agents }: McpSurface, { targets }: RoutingTable): Target[] {
  return agents.flatMap((agent) => targets.get(`${namespace}/${agent}`) ?? []);
}

export function mergeAbouts(parts: readonly Part[], instructionsChars: number): About {
  const said = parts.map((part) => {
    const [about = {}] = 'items' in part ? part.items : part.last;
    return { agent: part.agent, about };
  });
  const extensions: Record<string, unknown> = {};
  for (const { about } of said) mergeInto(extensions, memberOf(capabilitiesOf(about), 'extensions'));
  return {
    tasks: said
      .filter(({ about }) => tasksExtension in memberOf(capabilitiesOf(about), 'extensions'))
      .map(({ agent }) => agent),
    subscribable: said
      .filter(({ about }) => memberOf(capabilitiesOf(about), 'resources')['subscribe'] === true)
      .map(({ agent }) => agent),
    instructions: new Map(
      said.flatMap(({ agent, about }) => {
        const text = about['instructions'];
        if (typeof text !== 'string' || text.trim() === '') return [];
        return [[agent, withoutHiddenText(text).slice(0, instructionsChars).trim()] as const];
      }),
    ),
    extensions,
  };
}

function capabilitiesOf(about: Item): Record<string, unknown> {
  return memberOf(about, 'capabilities');
}

function memberOf(holder: Item, key: string): Record<string, unknown> {
  const value = holder[key];
  return isObject(value) ? value : {};
}

/** What two agents say of one extension: lists are joined, and of anything else the first word counts. */
function mergeInto(into: Record<string, unknown>, from: Item, depth = 0): void {
  for (const [key, value] of Object.entries(from)) {
    if (key === '__proto__') continue;
    const known = Object.hasOwn(into, key) ? into[key] : undefined;
    if (known === undefined) into[key] = structuredClone(value);
    else if (Array.isArray(known) && Array.isArray(value)) into[key] = [...new Set([...known, ...value])];
    else if (isObject(known) && isObject(value) && depth < 4) mergeInto(known, value, depth + 1);
  }
}
