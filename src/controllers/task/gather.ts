import type { Agent } from '#api/agent.ts';
import { findCondition } from '#api/conditions.ts';
import { taskLabel } from '#api/labels.ts';
import type { Task } from '#api/task.ts';
import { unimplementedFields } from '#api/unimplemented.ts';
import { validateObject } from '#api/validate.ts';
import type { Clock } from '#kit/clock.ts';
import type { Cache } from '#kube/cache.ts';
import { isEnded } from '#wire/task-line.ts';
import type { Attempts } from './attempts.ts';
import { dependenciesOf, noDependencies } from './dependencies.ts';
import type { AttemptFacts, Refusal, TaskFacts } from './facts.ts';
import { agentIndex, dependencyIndex, inNamespace, instanceIndex, ownersIndex } from './indexes.ts';
import { currentKey, isClaimed, isFinal } from './phases.ts';
import { type Choice, fittingAgents, type Load, pickAgent, readyInstances } from './pick.ts';
import { parseCron } from './schedule/cron.ts';
import { type ScheduleFacts, timeOfStamped } from './schedule/next.ts';

export interface GatherOptions {
  readonly tasks: Cache<Task>;
  readonly agents: Cache<Agent>;
  readonly attempts: Attempts;
  readonly identity: string;
  readonly clock: Pick<Clock, 'now'>;
}

/** How long after its start a controller takes an agent-server for one that cannot be reached, in milliseconds. */
const patienceMs = 20_000;
const unneeded: Choice = { ok: false, reason: 'AgentNotFound', message: '' };

/** Reads caches and what was told; writes nothing. */
export function gather(task: Task, options: GatherOptions): TaskFacts {
  const isOver = isFinal(task);
  const isGiven = isClaimed(task);
  const isOpen = !isOver && !isGiven;
  const namespace = task.metadata.namespace ?? '';
  return {
    task,
    refusals: isOpen ? refusalsOf(task) : [],
    dependencies: isOpen
      ? dependenciesOf(task, (name) => options.tasks.get({ namespace, name }))
      : noDependencies,
    choice: isOpen ? choose(task, options) : unneeded,
    attempt: isGiven ? attemptOf(task, options) : undefined,
    own: task.spec.isolation === 'Pod' ? ownAgents(task, options) : [],
    strays: straysOf(task, options),
    unnoted: isOver && isUnnoted(task, options),
    needed: isOver && isNeeded(task, options),
    identity: options.identity,
    now: options.clock.now(),
  };
}

/** What neither the schema's server nor its CEL rules could refuse. */
export function refusalsOf(task: Task): Refusal[] {
  const { spec } = task;
  const invalid = validateObject('Task', task).map((error) => ({ error, reason: 'Invalid' as const }));
  const missing = unimplementedFields('Task', spec).map((error) => ({
    error,
    reason: 'NotImplemented' as const,
  }));
  const refusals: Refusal[] = [...invalid, ...missing].map(({ reason, error }) => ({
    reason,
    message: `${error.path} ${error.message}.`,
  }));
  if (spec.tool === undefined && spec.session === undefined) {
    const message = 'spec.tool is missing: Tasks that agents take by themselves are not implemented yet.';
    refusals.push({ reason: 'NotImplemented', message });
  }
  return [...refusals, ...scheduleRefusals(task)];
}

/** Room for the minute, in names and in labels. */
const longestScheduledName = 52;

function scheduleRefusals({ spec, metadata }: Task): Refusal[] {
  const { schedule } = spec;
  if (schedule === undefined) return [];
  const refusals: Refusal[] = [];
  const parsed = parseCron(schedule.cron, schedule.timeZone);
  if (!parsed.ok) {
    refusals.push({ reason: 'Invalid', message: `spec.schedule.${parsed.field} ${parsed.message}.` });
  }
  if (metadata.name.length > longestScheduledName) {
    const message = `metadata.name of a Task with a schedule must be at most ${longestScheduledName} characters; choose a shorter name.`;
    refusals.push({ reason: 'Invalid', message });
  }
  return refusals;
}

/** Undefined: the schedule cannot be read, which is a refusal. */
export function gatherSchedule(task: Task, options: GatherOptions): ScheduleFacts | undefined {
  const { tasks, clock } = options;
  const { schedule } = task.spec;
  const parsed = schedule && parseCron(schedule.cron, schedule.timeZone);
  if (parsed?.ok !== true) return undefined;
  const made = tasks.byIndex(ownersIndex, task.metadata.uid ?? '');
  return {
    task,
    times: parsed.times,
    made,
    needed: new Set(made.filter((one) => isNeeded(one, options)).map(({ metadata }) => metadata.name)),
    now: clock.now(),
  };
}

function choose(task: Task, options: GatherOptions): Choice {
  const { spec, metadata } = task;
  const agents = options.agents.list(metadata.namespace ?? '');
  if (spec.isolation === 'Shared') return pickAgent(spec, agents, loadIn(task, options));
  const fitting = fittingAgents(spec, agents);
  return fitting.ok ? { ok: true, agent: fitting.agents[0], instance: '' } : fitting;
}

function loadIn(task: Task, { tasks }: GatherOptions): Load {
  return {
    ofAgent: (name) => tasks.byIndex(agentIndex, inNamespace(task, name)).length,
    ofInstance: (uid) => tasks.byIndex(instanceIndex, uid).length,
  };
}

function ownAgents({ metadata }: Task, { agents }: GatherOptions): Agent[] {
  return agents
    .list(metadata.namespace ?? '')
    .filter(({ metadata: own }) => own.labels?.[taskLabel] !== undefined)
    .filter(({ metadata: own }) => own.ownerReferences?.some(({ uid }) => uid === metadata.uid))
    .filter(({ metadata: own }) => own.deletionTimestamp === undefined);
}

/** Attempts that go on although they are not, or no longer, what the status speaks of. */
function straysOf(task: Task, { attempts }: GatherOptions): string[] {
  const current = isClaimed(task) ? currentKey(task) : undefined;
  return attempts.unended(task.metadata.uid ?? '').filter((key) => key !== current);
}

function isNeeded(task: Task, { tasks }: GatherOptions): boolean {
  return tasks.byIndex(dependencyIndex, inNamespace(task, task.metadata.name)).length > 0;
}

function isUnnoted({ metadata }: Task, { tasks }: GatherOptions): boolean {
  const owner = metadata.ownerReferences?.find(({ kind, controller }) => kind === 'Task' && controller);
  if (owner === undefined) return false;
  const schedule = tasks.get({ namespace: metadata.namespace ?? '', name: owner.name });
  if (schedule?.metadata.uid !== owner.uid) return false;
  const noted = Date.parse(schedule.status?.lastScheduleTime ?? '') || 0;
  return timeOfStamped(metadata.name, owner.name) > noted;
}

function attemptOf(task: Task, options: GatherOptions): AttemptFacts {
  const { agents, attempts } = options;
  const { agent: name = '', instance = '', taskId } = task.status ?? {};
  const key = currentKey(task);
  const agent = agents.get({ namespace: task.metadata.namespace ?? '', name });
  const endpoints = agent?.status?.endpoints ?? [];
  // One that ends is still listened to, also when its Agent is gone or suspended.
  const isThere = (asked: string) =>
    attempts.place(asked) !== undefined || endpoints.some(({ uid }) => uid === asked);
  const last = attempts.line(key);
  // What an instance said that is gone now, but for an end, is no longer so.
  const told = last && (isEnded(last.line) || isThere(last.instance)) ? last : undefined;
  const trouble = attempts.trouble(key);
  const noRoom = trouble?.kind === 'busy';
  const known = { line: told?.line, holder: told?.instance, trouble, noRoom };
  if (isThere(instance) && !attempts.isUnknownAt(key, instance)) {
    if (attempts.place(instance) === undefined)
      return { ...known, trouble: trouble ?? silence(attempts), ask: undefined, isLost: false };
    // One that ends with its Agent, or because that is suspended, is given nothing more.
    const isListed = endpoints.some(({ uid }) => uid === instance);
    const ask = { type: 'ask' as const, instance, known: taskId !== undefined || !isListed };
    return { ...known, ask, isLost: false };
  }
  const others = amongOthers(task, agent, options);
  return { ...known, ...others, trouble: told === undefined ? (others.trouble ?? trouble) : trouble };
}

/**
 * Its instance is gone, or knows nothing of it. One that came after it may have its queue, if the workspace was kept;
 * also when nobody heard whether it was taken.
 */
function amongOthers(
  task: Task,
  agent: Agent | undefined,
  { attempts, clock }: GatherOptions,
): Pick<AttemptFacts, 'ask' | 'isLost'> & Partial<Pick<AttemptFacts, 'trouble'>> {
  if (agent === undefined) return { ask: undefined, isLost: true };
  const key = currentKey(task);
  const ready = readyInstances(agent);
  const unasked = ready.filter(({ uid }) => !attempts.isUnknownAt(key, uid));
  const next = unasked.find(({ uid }) => attempts.place(uid) !== undefined);
  if (next !== undefined) return { ask: { type: 'ask', instance: next.uid, known: true }, isLost: false };
  const { replicas, suspend } = agent.spec.runtime;
  const isWhole = !suspend && replicas > 0 && ready.length >= replicas;
  if (isWhole && unasked.length === 0) return { ask: undefined, isLost: true };
  const trouble = unasked.length > 0 ? silence(attempts) : absence(agent, ready.length, clock.now());
  return { ask: undefined, isLost: false, ...(trouble && { trouble }) };
}

/** Those that could know of it are not all Ready. What passes in a moment is not told. */
function absence({ metadata, status, spec }: Agent, ready: number, now: number): AttemptFacts['trouble'] {
  const { replicas, suspend } = spec.runtime;
  const condition = findCondition(status?.conditions, 'Ready');
  const since = Date.parse(condition?.lastTransitionTime ?? '') || 0;
  if (!suspend && replicas > 0 && now - since < patienceMs) return undefined;
  const which = ready === 0 ? 'no instance' : `only ${ready} of ${replicas} instances`;
  const verb = ready === 0 ? 'is' : 'are';
  const why = condition?.status === 'False' ? `: ${condition.message}` : '.';
  const message = `Its instance is gone, and ${which} of Agent "${metadata.name}" that could have it ${verb} Ready${why}`;
  return { kind: 'absent', message, failures: 2, until: 0 };
}

function silence(attempts: Attempts): AttemptFacts['trouble'] {
  if (attempts.ageMs < patienceMs) return undefined;
  const message = 'Its agent-server cannot be reached.';
  return { kind: 'unreachable', message, failures: 2, until: 0 };
}
