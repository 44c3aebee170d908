import type { Condition } from './meta.ts';

/** Types of conditions. Agents have Accepted to Halted; Routes Accepted, ResolvedRefs and Programmed; Tasks Accepted, Stalled and Complete. */
export const conditionTypes = {
  Accepted: 'The spec is one that this version can carry out. While it is False nothing runs for it.',
  Ready: 'The agent’s tools can be called.',
  Progressing: 'The controller is working on it; no action is needed.',
  Degraded: 'It works less well than the spec asks for, or not at all; the message says what to do.',
  Halted: 'It ended again and again, and is not started any more until somebody resumes it.',
  ResolvedRefs: 'Everything that the Route refers to exists.',
  Programmed: 'Every router serves the Route as it is now.',
  Stalled: 'The Task does not get on by itself; the message says what it waits for.',
  Complete: 'The Task has ended. The reason says how; while it has not, the condition is not there.',
} as const;
export type ConditionType = keyof typeof conditionTypes;

/** A condition without the time that `setCondition` gives it. */
export type ConditionUpdate = Omit<Condition, 'lastTransitionTime'>;

const maxMessageLength = 32_768;

/**
 * Puts a condition into a list. Its lastTransitionTime moves to `now` only when its status changes. Returns
 * the same array when nothing changed, so that a status that says the same thing is not written again.
 */
export function setCondition(
  conditions: readonly Condition[],
  next: ConditionUpdate,
  now: Date,
): readonly Condition[] {
  const update = { ...next, message: next.message.slice(0, maxMessageLength) };
  const current = conditions.find(({ type }) => type === update.type);
  if (current === undefined) return [...conditions, { ...update, lastTransitionTime: toSeconds(now) }];
  if (saysTheSame(current, update)) return conditions;
  const lastTransitionTime = current.status === update.status ? current.lastTransitionTime : toSeconds(now);
  const changed = { ...update, lastTransitionTime };
  return conditions.map((condition) => (condition.type === update.type ? changed : condition));
}

/** The condition of a type, or undefined. */
export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

function saysTheSame(current: Condition, next: ConditionUpdate): boolean {
  return (
    current.status === next.status &&
    current.reason === next.reason &&
    current.message === next.message &&
    current.observedGeneration === next.observedGeneration
  );
}

/** metav1.Time: RFC 3339 in whole seconds. */
function toSeconds(time: Date): string {
  return `${time.toISOString().slice(0, 19)}Z`;
}
