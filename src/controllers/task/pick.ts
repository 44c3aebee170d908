import type { Agent } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import { taskLabel } from '#api/labels.ts';
import type { TaskReason } from '#api/reasons.ts';
import type { TaskSpec } from '#api/task.ts';
import { isTrue } from '../conditions.ts';

export interface Load {
  /** Attempts that the Agent of this name has now. */
  ofAgent(name: string): number;
  /** The same of one of its instances, by uid. */
  ofInstance(uid: string): number;
}

/** Who does a Task, or why nobody can. */
export type Choice =
  | { readonly ok: true; readonly agent: Agent; readonly instance: string }
  | { readonly ok: false; readonly reason: TaskReason; readonly message: string };

export type Wanted = Pick<TaskSpec, 'agentRef' | 'role' | 'requiredCapabilities'>;

/**
 * Pure. Among Agents of the Task's namespace: one that fits and is Ready, with the fewest attempts, then the first by
 * name; of that the instance with the fewest, then the first by name.
 */
export function pickAgent(wanted: Wanted, agents: readonly Agent[], load: Load): Choice {
  const fitting = fittingAgents(wanted, agents);
  if (!fitting.ok) return fitting;
  const ready = fitting.agents.filter((agent) => readyInstances(agent).length > 0);
  const [first] = ready.toSorted(
    (a, b) => load.ofAgent(a.metadata.name) - load.ofAgent(b.metadata.name) || byName(a.metadata, b.metadata),
  );
  const [instance] = first === undefined ? [] : byLoad(readyInstances(first), load);
  if (first === undefined || instance === undefined) return notReady(fitting.agents);
  return { ok: true, agent: first, instance: instance.uid };
}

export type Fitting =
  | { readonly ok: true; readonly agents: readonly [Agent, ...Agent[]] }
  | { readonly ok: false; readonly reason: TaskReason; readonly message: string };

/** Pure. The Agents that could do it, Ready or not, by name. */
export function fittingAgents(wanted: Wanted, agents: readonly Agent[]): Fitting {
  const { agentRef, role, requiredCapabilities = [] } = wanted;
  const present = agents
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined && !isForOneTask(metadata))
    .toSorted((a, b) => byName(a.metadata, b.metadata));
  if (agentRef !== undefined) {
    const named = present.find(({ metadata }) => metadata.name === agentRef.name);
    return named === undefined
      ? notFound(`Agent "${agentRef.name}" does not exist.`)
      : { ok: true, agents: [named] };
  }
  const ofRole = present.filter((agent) => role === undefined || roleOf(agent) === role);
  if (ofRole.length === 0) {
    return notFound(
      role === undefined ? 'There is no Agent in the namespace.' : `No Agent has the role "${role}".`,
    );
  }
  const [first, ...others] = ofRole.filter((agent) => missingOf(agent, requiredCapabilities).length === 0);
  if (first !== undefined) return { ok: true, agents: [first, ...others] };
  return {
    ok: false,
    reason: 'NoAgentWithCapabilities',
    message: describeMissing(ofRole, requiredCapabilities),
  };
}

/** Instances that take work. */
export function readyInstances({
  status,
  spec,
}: Agent): NonNullable<NonNullable<Agent['status']>['endpoints']> {
  if (spec.runtime.suspend) return [];
  return (status?.endpoints ?? []).filter(({ ready, terminating }) => ready && !terminating);
}

function byLoad<E extends { readonly uid: string; readonly name: string }>(
  endpoints: readonly E[],
  load: Load,
): E[] {
  return endpoints.toSorted((a, b) => load.ofInstance(a.uid) - load.ofInstance(b.uid) || byName(a, b));
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function roleOf({ spec, metadata }: Agent): string {
  return spec.role ?? metadata.name;
}

function isForOneTask({ labels }: Agent['metadata']): boolean {
  return labels?.[taskLabel] !== undefined;
}

function missingOf({ spec }: Agent, required: readonly string[]): string[] {
  return required.filter((name) => !spec.capabilities?.includes(name));
}

function notFound(message: string): Fitting & { readonly ok: false } {
  return { ok: false, reason: 'AgentNotFound', message };
}

/** Those that nobody has; else those that the one that comes nearest lacks. */
function describeMissing(agents: readonly Agent[], required: readonly string[]): string {
  const nowhere = required.filter((name) => !agents.some(({ spec }) => spec.capabilities?.includes(name)));
  if (nowhere.length > 0) return `No Agent has: ${nowhere.join(', ')}.`;
  const lacking = agents.map((agent) => ({ name: agent.metadata.name, missing: missingOf(agent, required) }));
  const [nearest] = lacking.toSorted((a, b) => a.missing.length - b.missing.length || byName(a, b));
  return `No Agent has all of them; "${nearest?.name}" comes nearest and lacks: ${nearest?.missing.join(', ')}.`;
}

/** Names the first few and why the first is not. */
function notReady(agents: readonly Agent[]): Choice {
  const names = agents.map(({ metadata }) => `"${metadata.name}"`);
  const shown = names.length > 3 ? `${names.slice(0, 3).join(', ')} and others` : names.join(', ');
  const verb = names.length > 1 ? 'are' : 'is';
  return {
    ok: false,
    reason: 'AgentNotReady',
    message: `Agent ${shown} ${verb} not Ready${whyOf(agents[0])}`,
  };
}

function whyOf(agent: Agent | undefined): string {
  const ready = findCondition(agent?.status?.conditions, 'Ready');
  if (ready === undefined || isTrue(agent?.status?.conditions, 'Ready')) return '.';
  return `: ${ready.message}`;
}
