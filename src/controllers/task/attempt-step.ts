import type { TaskStatus } from '#api/task.ts';
import { isEnded, type TaskLine } from '#wire/task-line.ts';
import { isCancelled } from './claim.ts';
import type { AttemptFacts, TaskFacts, Trouble } from './facts.ts';
import { keptOutcome, type Outcome, outcomeOf, phaseOf, resultOf, retryDelay } from './outcome.ts';
import { currentKey, timeText } from './phases.ts';
import { ended, type Stall, statusWith } from './status.ts';
import type { Notice, Step } from './step.ts';

/** Pure. Of a Task that was given to an instance: how far it is there, and what follows from its end. */
export function followAttempt(facts: TaskFacts, attempt: AttemptFacts): Step {
  const removeAgents = facts.own
    .filter(({ metadata }) => metadata.name !== facts.task.status?.agent)
    .map(({ metadata }) => metadata);
  return { removeAgents, ...stepOf(facts, attempt) };
}

function stepOf(facts: TaskFacts, attempt: AttemptFacts): Step {
  const { line, trouble, isLost } = attempt;
  if (line !== undefined && isEnded(line)) return attemptEnded(facts, outcomeOf(line), held(line));
  if (line?.status === 'input_required' && facts.task.spec.execution === undefined)
    return asksInVain(facts, line);
  if (isLost) return attemptEnded(facts, lost);
  if (trouble?.kind === 'refused')
    return attemptEnded(facts, { reason: 'Refused', message: trouble.message });
  if (line !== undefined) return goesOn(facts, attempt, line);
  return ask(facts, attempt);
}

const lost: Outcome = {
  reason: 'Interrupted',
  message: 'The instance that had it is gone, and nothing that came after it knows of it.',
};

/** What the status keeps of a line. */
function held(line: TaskLine): Partial<TaskStatus> {
  return { taskId: line.id };
}

function attemptEnded(facts: TaskFacts, found: Outcome, changes: Partial<TaskStatus> = {}): Step {
  const { task } = facts;
  const { attempts = 0 } = task.status ?? {};
  const pause = isCancelled(facts) ? undefined : retryDelay(task.spec, found, attempts);
  if (pause !== undefined) return again(facts, found, pause);
  const outcome = keptOutcome(task.spec, found);
  const { line } = outcome;
  const message = outcome.message === '' ? doneText(outcome) : outcome.message;
  const startedAt = task.status?.startedAt ?? timeOf(line?.startedAt);
  return ended(
    facts,
    { phase: phaseOf(outcome), reason: outcome.reason, message, at: timeOf(line?.finishedAt) ?? null },
    { ...changes, ...resultOf(outcome), ...(startedAt !== undefined && { startedAt }) },
  );
}

function doneText({ reason }: Outcome): string {
  return reason === 'Cancelled' ? 'It was cancelled.' : 'The tool ended well.';
}

/** In whole seconds, as the API has times. */
function timeOf(text: string | null | undefined): string | undefined {
  const ms = Date.parse(text ?? '');
  return Number.isNaN(ms) ? undefined : timeText(ms);
}

function again(facts: TaskFacts, { reason, message, line }: Outcome, pauseMs: number): Step {
  const { attempts = 0, startedAt = timeOf(line?.startedAt) } = facts.task.status ?? {};
  // Times of the API have whole seconds.
  const next = timeText(Math.ceil((facts.now + pauseMs) / 1000) * 1000);
  const status = statusWith(facts, {
    phase: 'Pending',
    nextAttemptTime: next,
    agent: undefined,
    instance: undefined,
    taskId: undefined,
    claimedBy: undefined,
    ...(startedAt !== undefined && { startedAt }),
  });
  const text = `Attempt ${attempts} ended: ${reason}${message === '' ? '' : `: ${message}`} The next one is at ${next}.`;
  return { status, notices: [{ type: 'Warning', reason: 'Retrying', message: text }], waitMs: pauseMs };
}

/** Nobody answers for a Task, and the task would wait for good. */
function asksInVain(facts: TaskFacts, line: TaskLine): Step {
  const message = 'The tool asked for input, and there is nobody to answer for a Task.';
  const step = ended(facts, { phase: 'Failed', reason: 'InputRequired', message }, held(line));
  return { ...step, effects: [{ type: 'end', keys: [currentKey(facts.task)] }] };
}

/** It waits there, or runs. The stream tells what becomes of it. */
function goesOn(facts: TaskFacts, attempt: AttemptFacts, line: TaskLine): Step {
  const { holder, trouble } = attempt;
  const { status: before = {} } = facts.task;
  // The client of an execution answers what it asks.
  const isRunning = line.status !== 'pending';
  const startedAt = before.startedAt ?? (isRunning ? timeOf(line.startedAt) : undefined);
  const changes: Partial<TaskStatus> = {
    phase: isRunning ? 'Running' : 'Queued',
    ...held(line),
    instance: holder ?? before.instance,
    ...(startedAt !== undefined && { startedAt }),
  };
  const notices = isRunning && before.phase !== 'Running' ? [startedNotice(facts)] : [];
  if (!isCancelled(facts)) return { status: statusWith(facts, changes), notices };
  const stall = stallOf(facts, trouble);
  const status = statusWith(facts, changes, { ...(stall && { stall }) });
  const pause = trouble === undefined ? 0 : trouble.until - facts.now;
  if (pause > 0) return { status, notices, waitMs: pause };
  return { status, notices, effects: [{ type: 'end', keys: [currentKey(facts.task)] }] };
}

function startedNotice({ task }: TaskFacts): Notice {
  const { attempts, agent } = task.status ?? {};
  return { type: 'Normal', reason: 'Started', message: `Attempt ${attempts} runs at agent ${agent}.` };
}

function ask(facts: TaskFacts, { trouble, ask: effect, noRoom }: AttemptFacts): Step {
  if (isCancelled(facts) && noRoom && facts.task.status?.taskId === undefined) {
    const message = 'It was cancelled before an agent had room for it.';
    return ended(facts, { phase: 'Cancelled', reason: 'Cancelled', message });
  }
  const stall = stallOf(facts, trouble);
  // What was running runs on for all that is known.
  const phase = facts.task.status?.phase === 'Running' ? 'Running' : 'Queued';
  const status = statusWith(facts, { phase }, { ...(stall && { stall }) });
  const pause = trouble === undefined ? 0 : trouble.until - facts.now;
  if (pause > 0) return { status, waitMs: pause };
  return effect === undefined ? { status, waitMs: unreachableMs } : { status, effects: [effect] };
}

/** Milliseconds until it is looked again whether there is somebody to ask; whoever comes is news before that. */
const unreachableMs = 20_000;

const stallReasons = {
  busy: 'AgentBusy',
  absent: 'AgentNotReady',
  unreachable: 'AgentUnreachable',
  refused: 'AgentUnreachable',
} as const;

/** What happened once may be over already. */
function stallOf(facts: TaskFacts, trouble: Trouble | undefined): Stall | undefined {
  if (trouble === undefined || trouble.failures < 2) return undefined;
  const { kind, message } = trouble;
  const waiting = isCancelled(facts) ? ' The cancellation waits for that.' : '';
  return { reason: stallReasons[kind], message: `${message}${waiting}` };
}
