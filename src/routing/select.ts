import type { Route } from '#api/route.ts';
import type { Roster } from './roster.ts';
import type { Verdict } from './verdict.ts';

type Selector = NonNullable<Route['spec']['selector']>;

export interface Selection {
  /** Names of the chosen agents, sorted. */
  readonly names: readonly string[];
  readonly verdict: Verdict;
}

const noLabels = {};
const newest = new WeakMap<Route, { readonly roster: string; readonly selection: Selection }>();

/** The agents that a Route chooses in its own namespace. Pure, and computed once for a Route and a roster. */
export function selectAgents(route: Route, roster: Roster): Selection {
  const known = newest.get(route);
  if (known?.roster === roster.digest) return known.selection;
  const selection = select(route, roster);
  newest.set(route, { roster: roster.digest, selection });
  return selection;
}

function select(route: Route, roster: Roster): Selection {
  const asked = route.spec.agents?.map((reference) => reference.name);
  if (asked !== undefined) {
    const missing = asked.filter((name) => !roster.names.has(name));
    const names = asked.filter((name) => roster.names.has(name)).sort();
    return { names, verdict: missing.length === 0 ? resolved : agentsMissing(missing) };
  }
  const isChosen = matcherOf(route.spec.selector ?? {});
  const chosen = roster.agents.filter((agent) => isChosen(agent.metadata.labels ?? noLabels));
  const names = chosen.map((agent) => agent.metadata.name).sort();
  return { names, verdict: names.length === 0 ? nothingSelected : resolved };
}

const resolved: Verdict = {
  ok: true,
  reason: 'ResolvedRefs',
  message: 'Everything that the Route refers to exists.',
};
const nothingSelected: Verdict = {
  ok: false,
  reason: 'NoAgentsSelected',
  message: 'spec.selector matches no Agent.',
};

function agentsMissing(names: readonly string[]): Verdict {
  const message = `No Agent named ${names.map((name) => `"${name}"`).join(', ')} exists in this namespace.`;
  return { ok: false, reason: 'AgentNotFound', message };
}

type Labels = Readonly<Record<string, string>>;

/** metav1.LabelSelector. An empty selector matches everything. */
function matcherOf(selector: Selector): (labels: Labels) => boolean {
  const equal = Object.entries(selector.matchLabels ?? {});
  const expressions = selector.matchExpressions ?? [];
  return (labels) =>
    equal.every(([key, value]) => labels[key] === value) &&
    expressions.every((expression) => matches(labels, expression));
}

type Expression = NonNullable<Selector['matchExpressions']>[number];

function matches(labels: Labels, { key, operator, values }: Expression): boolean {
  const value = labels[key];
  const listed = value !== undefined && (values ?? []).includes(value);
  switch (operator) {
    case 'In':
      return listed;
    case 'NotIn':
      return !listed;
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
