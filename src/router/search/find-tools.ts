import { isObject } from '#kit/json.ts';
import type { View, ViewItem } from '../catalog/view.ts';
import { buildIndex, type SearchIndex } from './build-index.ts';
import { searchTools } from './query.ts';
import { structuredResult, type ToolResult, toolError } from './tool-results.ts';

export interface FindLimits {
  /** Tools in an answer when the client does not say how many. */
  readonly foundTools: number;
  /** … and when it does, at most. */
  readonly foundToolsMost: number;
}

/** A longer text is no longer a question, and every word of it costs. */
const longestQuery = 1_000;

/**
 * The answer of find_tool to its arguments: tools as the surface shows them, best first. Agents whose tools
 * are not known now are named in `missing`. Wrong arguments give a result with isError that says what is wrong.
 */
export function findTools(view: View, args: unknown, limits: FindLimits): ToolResult {
  const wanted = readArguments(args, limits);
  if (typeof wanted === 'string') return toolError(wanted);
  const agents = new Set(view.items.map((item) => item.agent));
  if (wanted.agent !== undefined && !agents.has(wanted.agent)) {
    return toolError(`No tools of agent "${wanted.agent}". Agents: ${[...agents].slice(0, 50).join(', ')}.`);
  }
  const matches = searchTools(indexOf(view), wanted.query, wanted);
  const tools = matches.flatMap(({ tool }) => describe(view.items[tool]));
  return structuredResult({ tools, ...(view.errors.length > 0 && { missing: view.errors }) });
}

/** Made when a view is first searched, kept as long as the view is. */
function indexOf(view: View): SearchIndex {
  const known = indexes.get(view);
  if (known !== undefined) return known;
  const tools = view.items.map(({ agent, exposed, item }) => ({ agent, name: exposed, item }));
  const index = buildIndex(tools);
  indexes.set(view, index);
  return index;
}

const indexes = new WeakMap<View, SearchIndex>();

const shownMembers = ['title', 'description', 'inputSchema', 'annotations'] as const;

function describe(found: ViewItem | undefined): Record<string, unknown>[] {
  if (found === undefined) return [];
  const { agent, exposed, item } = found;
  const shown = shownMembers.filter((member) => item[member] !== undefined);
  const { inputSchema = { type: 'object' }, ...rest } = Object.fromEntries(
    shown.map((member) => [member, item[member]]),
  );
  return [{ agent, name: exposed, ...rest, inputSchema }];
}

interface Wanted {
  readonly query: string;
  readonly limit: number;
  readonly agent: string | undefined;
}

/** A sentence when they are wrong. */
function readArguments(args: unknown, limits: FindLimits): Wanted | string {
  const { query, limit, agent } = isObject(args) ? args : {};
  if (typeof query !== 'string' || query.trim() === '')
    return '"query" must be a text: what the tool should do.';
  if (query.length > longestQuery) return `"query" must not be longer than ${longestQuery} characters.`;
  if (limit !== undefined && !(Number.isInteger(limit) && Number(limit) >= 1))
    return '"limit" must be a whole number from 1 on.';
  if (agent !== undefined && typeof agent !== 'string') return '"agent" must be the name of an agent.';
  const most = limit === undefined ? limits.foundTools : Number(limit);
  return { query, limit: Math.min(most, limits.foundToolsMost), agent };
}
