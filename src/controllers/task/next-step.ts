import { followAttempt } from './attempt-step.ts';
import { claim, isCancelled } from './claim.ts';
import type { TaskFacts } from './facts.ts';
import { isolatedName, stepIsolated } from './isolated-step.ts';
import { isFinal, timeText } from './phases.ts';
import { ended, type Stall, statusWith } from './status.ts';
import type { Step } from './step.ts';

/**
 * Pure. What is done about a Task without a schedule now. Checks in order; the first that speaks decides:
 * ended → given to an instance → refused → cancelled → dependencies → suspended → a pause before the next attempt →
 * nobody to do it → claim.
 */
export function nextStep(facts: TaskFacts): Step {
  const step = stepOf(facts);
  const { strays } = facts;
  if (strays.length === 0) return step;
  return { ...step, effects: [...(step.effects ?? []), { type: 'end', keys: strays }] };
}

function stepOf(facts: TaskFacts): Step {
  const { task } = facts;
  if (isFinal(task)) return afterwards(facts);
  if (facts.attempt !== undefined) return followAttempt(facts, facts.attempt);
  const unneeded = { removeAgents: ownBefore(facts) };
  for (const check of [refused, cancelled, dependent, suspended, pausing]) {
    const step = check(facts);
    if (step !== undefined) return { ...unneeded, ...step };
  }
  return { ...unneeded, ...start(facts) };
}

/** Milliseconds until it is looked again whether others still depend on it; the end of one is news before that. */
const neededMs = 60_000;

/** It has ended: what was made for it goes, and after a while it goes itself, once nobody waits for it. */
function afterwards({ task, own, unnoted, needed, now }: TaskFacts): Step {
  const removeAgents = own.map(({ metadata }) => metadata);
  const { ttlSecondsAfterFinished: ttl } = task.spec;
  if (ttl === undefined) return { removeAgents };
  const left = Date.parse(task.status?.completedAt ?? timeText(now)) + ttl * 1000 - now;
  if (left > 0) return { removeAgents, waitMs: left };
  if (needed) return { removeAgents, waitMs: neededMs };
  return unnoted ? { removeAgents, waitMs: 1000 } : { removeAgents, removeItself: true };
}

function refused(facts: TaskFacts): Step | undefined {
  const [first] = facts.refusals;
  if (first === undefined) return undefined;
  const message = facts.refusals.map((refusal) => refusal.message).join(' ');
  return { status: statusWith(facts, { phase: 'Pending' }, { refusal: { ...first, message } }) };
}

function cancelled(facts: TaskFacts): Step | undefined {
  if (!isCancelled(facts)) return undefined;
  return ended(facts, {
    phase: 'Cancelled',
    reason: 'Cancelled',
    message: 'It was cancelled before it ran.',
  });
}

function dependent(facts: TaskFacts): Step | undefined {
  const { missing, endless, waiting, failed, cycle } = facts.dependencies;
  if (cycle.length > 0) {
    const message = `Tasks wait for each other: ${cycle.join(' → ')}.`;
    return held(facts, { reason: 'DependencyCycle', message });
  }
  const [first] = failed;
  if (first !== undefined) {
    const message = `The Task "${first.name}" in dependsOn did not succeed: it is ${first.phase}.`;
    return ended(facts, { phase: 'Failed', reason: 'DependencyFailed', message });
  }
  const [absent] = missing;
  if (absent !== undefined) {
    const message = `The Task "${absent}" in dependsOn does not exist.`;
    return held(facts, { reason: 'DependencyMissing', message });
  }
  const [scheduled] = endless;
  if (scheduled !== undefined) {
    const message = `The Task "${scheduled}" in dependsOn has a schedule: it never ends.`;
    return held(facts, { reason: 'DependencyMissing', message });
  }
  return waiting.length > 0 ? held(facts) : undefined;
}

function suspended(facts: TaskFacts): Step | undefined {
  return facts.task.spec.suspend ? held(facts) : undefined;
}

function held(facts: TaskFacts, stall?: Stall): Step {
  return { status: statusWith(facts, { phase: 'Held' }, { ...(stall && { stall }) }) };
}

/** Before the next attempt. */
function pausing(facts: TaskFacts): Step | undefined {
  const { nextAttemptTime } = facts.task.status ?? {};
  const left = Date.parse(nextAttemptTime ?? '') - facts.now;
  if (!(left > 0)) return undefined;
  return { status: statusWith(facts, { phase: 'Pending' }), waitMs: left };
}

function start(facts: TaskFacts): Step {
  if (facts.task.spec.isolation === 'Pod') return stepIsolated(facts);
  const { choice } = facts;
  if (!choice.ok) return { status: statusWith(facts, { phase: 'Pending' }, { stall: choice }) };
  return claim(facts, choice.agent.metadata.name, choice.instance);
}

/** Agents of earlier attempts. */
function ownBefore({ own, task }: TaskFacts): Step['removeAgents'] {
  const next = isolatedName(task, (task.status?.attempts ?? 0) + 1);
  return own.filter(({ metadata }) => metadata.name !== next).map(({ metadata }) => metadata);
}
