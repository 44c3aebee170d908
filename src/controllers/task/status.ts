import { type ConditionUpdate, findCondition, setCondition } from '#api/conditions.ts';
import type { Condition } from '#api/meta.ts';
import type { TaskReason } from '#api/reasons.ts';
import type { Task, TaskStatus } from '#api/task.ts';
import { withoutUndefined } from '#kit/json.ts';
import type { Refusal } from './facts.ts';
import { timeText } from './phases.ts';
import type { Notice, Step } from './step.ts';

/** Fields of the status that this controller writes; approval and usage are others'. */
export const ownedFields = [
  'observedGeneration',
  'phase',
  'attempts',
  'agent',
  'instance',
  'taskId',
  'claimedBy',
  'nextAttemptTime',
  'createdAt',
  'startedAt',
  'completedAt',
  'exitCode',
  'result',
  'lastScheduleTime',
  'nextScheduleTime',
  'conditions',
] as const satisfies readonly (keyof TaskStatus)[];

export interface Stall {
  readonly reason: TaskReason;
  readonly message: string;
}

export interface Findings {
  /** Why nothing is carried out. Default: it is accepted. */
  readonly refusal?: Refusal;
  /** What it waits for, when that does not come by itself. Default: nothing. */
  readonly stall?: Stall;
  /** How it ended. Default: it has not. */
  readonly end?: Stall;
}

export interface Described {
  readonly task: Task;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Pure. The whole status of a Task: what it was, with these changes (undefined takes a field away), and the conditions
 * that the findings come to. Equal facts give an equal status, whatever `now` is.
 */
export function statusWith(
  { task, now }: Described,
  changes: Partial<TaskStatus>,
  findings: Findings = {},
): TaskStatus {
  const before = task.status ?? {};
  const kept = Object.fromEntries(ownedFields.map((name) => [name, before[name]]));
  const { generation } = task.metadata;
  const status: TaskStatus = {
    attempts: 0,
    ...kept,
    ...(findings.refusal === undefined && { createdAt: before.createdAt ?? timeText(now) }),
    ...changes,
    ...(generation !== undefined && { observedGeneration: generation }),
    conditions: conditionsOf(task, findings, new Date(now)),
  };
  return withoutUndefined({ ...status, attempts: status.attempts ?? 0 });
}

function conditionsOf(task: Task, { refusal, stall, end }: Findings, now: Date): Condition[] {
  const { generation } = task.metadata;
  const observed = generation === undefined ? {} : { observedGeneration: generation };
  const before = task.status?.conditions ?? [];
  const accepted = { reason: 'Accepted', message: 'The Task is accepted.' };
  const updates: ConditionUpdate[] = [
    {
      type: 'Accepted',
      status: refusal === undefined ? 'True' : 'False',
      ...(refusal ?? accepted),
      ...observed,
    },
  ];
  if (stall !== undefined) {
    const { reason, message } = stall;
    updates.push({ type: 'Stalled', status: 'True', reason, message, ...observed });
  } else if (findCondition(before, 'Stalled') !== undefined) {
    const message = 'Nothing keeps it from getting on.';
    updates.push({ type: 'Stalled', status: 'False', reason: 'Advancing', message, ...observed });
  }
  if (end !== undefined) {
    const { reason, message } = end;
    updates.push({ type: 'Complete', status: 'True', reason, message, ...observed });
  }
  return [
    ...updates.reduce(
      (conditions, update) => setCondition(conditions, update, now),
      before as readonly Condition[],
    ),
  ];
}

export interface End extends Stall {
  readonly phase: NonNullable<TaskStatus['phase']>;
  /** RFC 3339. Default: now. */
  readonly at?: string | null;
}

/** Pure. The last step of a Task. */
export function ended(
  described: Described,
  { phase, reason, message, at }: End,
  changes: Partial<TaskStatus> = {},
): Step {
  const completedAt = at ?? timeText(described.now);
  const status = statusWith(
    described,
    { ...changes, phase, completedAt, nextAttemptTime: undefined },
    { end: { reason, message } },
  );
  return { status, notices: [noticeOf(reason, message)], waitMs: 0 };
}

function noticeOf(reason: TaskReason, message: string): Notice {
  const isGood = reason === 'Succeeded' || reason === 'Cancelled';
  return { type: isGood ? 'Normal' : 'Warning', reason, message };
}
