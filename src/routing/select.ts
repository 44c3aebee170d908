import type { Agent } from '#api/agent.ts';
import type { Route } from '#api/route.ts';
import type { Verdict } from './verdict.ts';

type Selector = NonNullable<Route['spec']['selector']>;

/** Names of the agents that a Route chooses in its own namespace, sorted. */
export function selectAgents(
  route: Route,
  agents: readonly Agent[],
): { readonly names: readonly string[]; readonly verdict: Verdict } {
  const own = agents.filter((agent) => agent.metadata.namespace === route.metadata.namespace);
  const existing = new Set(own.map((agent) => agent.metadata.name));
  const asked = route.spec.agents?.map((reference) => reference.name);
  if (asked !== undefined) {
    const missing = asked.filter((name) => !existing.has(name));
    const names = asked.filter((name) => existing.has(name)).sort();
    return { names, verdict: missing.length === 0 ? resolved : agentsMissing(missing) };
  }
  const { selector } = route.spec;
  const chosen = own.filter((agent) => matchesSelector(agent.metadata.labels ?? {}, selector ?? {}));
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

/** metav1.LabelSelector. An empty selector matches everything. */
export function matchesSelector(labels: Readonly<Record<string, string>>, selector: Selector): boolean {
  const equal = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return equal && (selector.matchExpressions ?? []).every((expression) => matches(labels, expression));
}

type Expression = NonNullable<Selector['matchExpressions']>[number];

function matches(labels: Readonly<Record<string, string>>, { key, operator, values }: Expression): boolean {
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
