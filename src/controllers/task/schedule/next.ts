import { apiVersion } from '#api/group.ts';
import { scheduledByLabel } from '#api/labels.ts';
import type { Task, TaskSpec, TaskStatus } from '#api/task.ts';
import { isFinal, timeText } from '../phases.ts';
import type { Notice, Step } from '../step.ts';
import type { CronTimes } from './cron.ts';

export interface ScheduleFacts {
  readonly task: Task;
  readonly times: CronTimes;
  /** Tasks that it made and that are there. */
  readonly made: readonly Task[];
  /** Names of those of them that Tasks depend on which have not ended. */
  readonly needed: ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

type Schedule = NonNullable<TaskSpec['schedule']>;
type Changes = Pick<TaskStatus, 'phase' | 'lastScheduleTime' | 'nextScheduleTime'>;

/** The wall clock may jump, or the machine sleep, while a timer goes by another clock; in milliseconds. */
const longestWaitMs = 30_000;

/**
 * Pure. What a Task with a schedule does now: nothing, make a Task, or pass a time over. Times up to
 * `status.lastScheduleTime` are done with, for good: neither a clock that is set back nor a restart brings one again.
 */
export function nextScheduled(facts: ScheduleFacts, schedule: Schedule): Step<Changes> {
  const { task, times, now } = facts;
  const done = doneUntil(task);
  const due = times.lastDue(done, now);
  const remove = surplus(facts, schedule, done);
  const active = activeOf(facts, due);
  if (task.spec.suspend) return { status: { phase: 'Held', ...lastTime(task) }, remove };
  if (due === undefined) return { ...quiet(facts, lastTime(task), done), remove };
  const deadline = due + schedule.startingDeadlineSeconds * 1000;
  const isBlocked = schedule.concurrencyPolicy === 'Forbid' && active.length > 0;
  if (now > deadline) {
    const reason = isBlocked ? skipped(active, due) : missed(schedule, due);
    return { ...passed(facts, due), remove, notices: [reason] };
  }
  if (isBlocked) {
    const waitMs = Math.min(longestWaitMs, deadline - now + 1);
    return { status: { phase: 'Scheduled', ...lastTime(task), ...nextTime(times, now) }, remove, waitMs };
  }
  const replaced = schedule.concurrencyPolicy === 'Replace' ? active : [];
  return {
    ...passed(facts, due),
    create: [stampedTask(task, due)],
    remove: [...remove, ...replaced.map(({ metadata }) => metadata)],
    notices: replaced.map((old) => replacement(old, due)),
  };
}

/** But for the one of the time that is due, which is there when that could not be noted. */
function activeOf({ task, made }: ScheduleFacts, due: number | undefined): Task[] {
  const own = due === undefined ? undefined : stampedName(task, due);
  return made
    .filter((one) => !isFinal(one) && one.metadata.deletionTimestamp === undefined)
    .filter(({ metadata }) => metadata.name !== own);
}

/** Until when times are done with. */
function doneUntil({ metadata, status }: Task): number {
  return Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? '') || 0;
}

function lastTime({ status }: Task): Changes {
  return status?.lastScheduleTime === undefined ? {} : { lastScheduleTime: status.lastScheduleTime };
}

function nextTime(times: CronTimes, after: number): Changes {
  const next = times.after(after);
  return next === undefined ? {} : { nextScheduleTime: timeText(next) };
}

function quiet({ times, now }: ScheduleFacts, last: Changes, done: number): Step<Changes> {
  const from = Math.max(now, done);
  const next = times.after(from);
  const status: Changes = { phase: 'Scheduled', ...last, ...nextTime(times, from) };
  return { status, waitMs: Math.min(longestWaitMs, next === undefined ? longestWaitMs : next - now) };
}

function passed(facts: ScheduleFacts, due: number): Step<Changes> {
  return quiet(facts, { lastScheduleTime: timeText(due) }, due);
}

function missed({ startingDeadlineSeconds }: Schedule, due: number): Notice {
  const message = `Its time ${timeText(due)} passed, and times before it, more than ${startingDeadlineSeconds} s (startingDeadlineSeconds) ago: nothing was made.`;
  return { type: 'Warning', reason: 'MissedSchedule', message };
}

function skipped([running]: readonly Task[], due: number): Notice {
  const message = `At ${timeText(due)} nothing was made: ${running?.metadata.name} has not ended (concurrencyPolicy Forbid).`;
  return { type: 'Warning', reason: 'SkippedSchedule', message };
}

function replacement(old: Task, due: number): Notice {
  const message = `${old.metadata.name} is deleted: it had not ended at ${timeText(due)} (concurrencyPolicy Replace).`;
  return { type: 'Normal', reason: 'Replaced', message };
}

/**
 * Ended Tasks beyond the limits, the oldest first. The one of a time that is not done with stays: its name is what
 * keeps another one from being made. So do those that others wait for, which the limits do not count.
 */
function surplus(
  { task, made, needed }: ScheduleFacts,
  schedule: Schedule,
  done: number,
): readonly Task['metadata'][] {
  const ended = made
    .filter((old) => isFinal(old) && old.metadata.deletionTimestamp === undefined)
    .filter((old) => timeOf(old, task) <= done && !needed.has(old.metadata.name))
    .toSorted((a, b) => timeOf(b, task) - timeOf(a, task));
  const good = ended.filter(({ status }) => status?.phase === 'Succeeded');
  const bad = ended.filter(({ status }) => status?.phase !== 'Succeeded');
  return [...good.slice(schedule.successfulHistoryLimit), ...bad.slice(schedule.failedHistoryLimit)].map(
    ({ metadata }) => metadata,
  );
}

function timeOf(made: Task, task: Task): number {
  return timeOfStamped(made.metadata.name, task.metadata.name);
}

/** Milliseconds since the epoch that the name of a Task made by a schedule says. */
export function timeOfStamped(name: string, scheduled: string): number {
  return Number(name.slice(scheduled.length + 1)) * 60_000;
}

export function stampedName(task: Task, time: number): string {
  return `${task.metadata.name}-${Math.floor(time / 60_000)}`;
}

/** The Task of one time: everything that the one with the schedule says, but for schedule and suspension. */
function stampedTask(task: Task, time: number): Task {
  const { name, namespace, uid = '', labels } = task.metadata;
  const { schedule: _schedule, ...spec } = task.spec;
  return {
    apiVersion,
    kind: 'Task',
    metadata: {
      name: stampedName(task, time),
      ...(namespace !== undefined && { namespace }),
      labels: { ...labels, [scheduledByLabel]: name },
      ownerReferences: [{ apiVersion, kind: 'Task', name, uid, controller: true }],
    },
    spec: { ...spec, suspend: false },
  };
}
