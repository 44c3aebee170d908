import type { TaskReason } from '#api/reasons.ts';
import type { TaskSpec, TaskStatus } from '#api/task.ts';
import { backoffDelay } from '#kit/backoff.ts';
import { largestResult, type TaskLine } from '#wire/task-line.ts';

/** How one attempt ended. */
export interface Outcome {
  readonly reason: TaskReason &
    ('Succeeded' | 'Failed' | 'TimedOut' | 'Interrupted' | 'Cancelled' | 'Refused');
  /** In one line. */
  readonly message: string;
  readonly line?: TaskLine;
}

/** Pure. Of a line that says that it ended. */
export function outcomeOf(line: TaskLine): Outcome {
  const { status, reason, isError } = line;
  const message = oneLine(line.message);
  if (status === 'completed' && !isError) return { reason: 'Succeeded', message, line };
  if (status === 'cancelled' || reason === 'Cancelled') return { reason: 'Cancelled', message, line };
  if (reason === 'TimedOut' || reason === 'Interrupted') return { reason, message, line };
  return { reason: 'Failed', message: message === '' ? 'The tool failed.' : message, line };
}

/** Pure. Milliseconds until the next attempt; undefined: there is none. */
export function retryDelay(
  { retry }: Pick<TaskSpec, 'retry'>,
  { reason }: Outcome,
  attempts: number,
): number | undefined {
  const isMeant = retry.when.some((when) => when === reason);
  if (!isMeant || attempts > retry.limit) return undefined;
  const { initialSeconds, factor, maxSeconds } = retry.backoff;
  return backoffDelay({ initial: initialSeconds * 1000, factor, max: maxSeconds * 1000 }, attempts);
}

/**
 * Pure. With `isolation: Pod` a result that the status has no room for goes with the pod: then the Task has not
 * succeeded.
 */
export function keptOutcome({ isolation }: Pick<TaskSpec, 'isolation'>, outcome: Outcome): Outcome {
  const { bytes = 0, content } = resultOf(outcome).result ?? {};
  const isLost = isolation === 'Pod' && outcome.reason === 'Succeeded' && bytes > 0 && content === undefined;
  if (!isLost) return outcome;
  const message = `The tool ended well, but its result of ${bytes} bytes is lost: with isolation: Pod at most ${largestResult} bytes are kept. Let the tool write it somewhere else, or use isolation: Shared.`;
  return { ...outcome, reason: 'Failed', message, ...(outcome.line && { line: withoutBlob(outcome.line) }) };
}

/** It goes with its agent. */
function withoutBlob({ blob: _gone, ...line }: TaskLine): TaskLine {
  return line;
}

const phases = { Succeeded: 'Succeeded', TimedOut: 'TimedOut', Cancelled: 'Cancelled' } as const;

/** Phase of a Task whose last attempt ended so. */
export function phaseOf({ reason }: Outcome): NonNullable<TaskStatus['phase']> {
  return reason in phases ? phases[reason as keyof typeof phases] : 'Failed';
}

/** What the status keeps of the last attempt: results of up to 64 KiB, of larger ones the size and where they are. */
export function resultOf({ message, line }: Outcome): Pick<TaskStatus, 'result' | 'exitCode'> {
  const text = line?.result === undefined ? undefined : JSON.stringify(line.result);
  const bytes = text === undefined ? (line?.resultBytes ?? 0) : Buffer.byteLength(text);
  const result = {
    ...(text !== undefined && bytes <= largestResult && { content: text }),
    ...(line?.blob !== undefined && bytes > largestResult && { blob: line.blob }),
    ...(bytes > 0 && { bytes, isError: line?.isError ?? false }),
    ...(message !== '' && { message: message.slice(0, 4096) }),
  };
  const { exitCode = null } = line ?? {};
  return {
    ...(Object.keys(result).length > 0 && { result }),
    ...(exitCode !== null && { exitCode: exitCode >= -1 && exitCode <= 255 ? exitCode : -1 }),
  };
}

export function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').trim();
}
