import type { Clock } from '#kit/clock.ts';
import { type EndedTask, mostEnded, type QueueLine, type TaskOutcome } from '#wire/queue-line.ts';
import type { TaskChange, TaskCounts } from '../queue/queue.ts';
import type { TaskService } from '../tasks/service.ts';

export interface QueueNewsOptions {
  readonly tasks: Pick<TaskService, 'counts' | 'onChange'>;
  readonly clock: Clock;
  /** Sends a line to whoever listens. */
  readonly send: (line: QueueLine) => void;
}

/** Between two lines, in milliseconds. */
const everyMs = 5_000;

/**
 * Tells how the queue is, for metrics, while that changes. Routers and controllers are all that may reach an
 * agent-server, so a line on the stream that is there anyway takes the place of a scrape. Returns the stop function.
 */
export function tellQueueNews({ tasks, clock, send }: QueueNewsOptions): () => void {
  let ended: EndedTask[] = [];
  let cancel: (() => void) | undefined;
  let stopped = false;

  async function tell(): Promise<void> {
    const counts = await tasks.counts();
    if (stopped) return;
    cancel = undefined;
    const told = ended;
    ended = [];
    send(queueLineOf(counts, told));
  }
  const unsubscribe = tasks.onChange((change) => {
    // Of more than a line holds the others are counted by nobody; that many processes do not end in five seconds.
    if (final.has(change.status) && ended.length < mostEnded) ended.push(endOf(change, clock.now()));
    cancel ??= clock.after(everyMs, () => void tell().catch(() => undefined));
  });
  return () => {
    stopped = true;
    unsubscribe();
    cancel?.();
  };
}

export function queueLineOf(counts: TaskCounts, ended: readonly EndedTask[]): QueueLine {
  const { pending, running, inputRequired } = counts;
  return { type: 'queue', pending, running, inputRequired, ended };
}

const final: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled']);

function endOf({ status, reason, createdAt, startedAt, finishedAt }: TaskChange, now: number): EndedTask {
  const end = finishedAt === null ? now : Date.parse(finishedAt);
  const start = startedAt === null ? end : Date.parse(startedAt);
  return [outcomeOf(status, reason), Math.max(0, start - Date.parse(createdAt)), Math.max(0, end - start)];
}

function outcomeOf(status: TaskChange['status'], reason: TaskChange['reason']): TaskOutcome {
  if (status === 'cancelled') return 'cancelled';
  if (status === 'completed') return 'succeeded';
  if (reason === 'TimedOut') return 'timed_out';
  return reason === 'Interrupted' ? 'interrupted' : 'failed';
}
