import type { Clock } from '#kit/clock.ts';
import { codeOf } from '#kit/errors.ts';
import type { RedactingStream, Redactor } from '#kit/redact.ts';
import type { Progress } from '../source.ts';
import { createLogTail, type LogTail } from './log-tail.ts';
import type { HolderOperation, Said } from './outcome-operation.ts';
import type { Lease, TaskRecord } from './queue.ts';
import type { StoredLog } from './store/operations.ts';
import { jsonOrNull, timeText } from './task-record.ts';

export interface RunningTasksOptions {
  readonly clock: Clock;
  /** Bytes of log kept for each task, asked when the task starts. */
  readonly logTailBytes: () => number;
  readonly record: (operation: HolderOperation) => Promise<boolean>;
  /** What is taken out of logs and messages, asked when it is needed. Default: nothing. */
  readonly redactor?: (() => Redactor) | undefined;
}

/** A task that runs in this process. */
interface Running {
  readonly task: TaskRecord;
  readonly log: LogTail;
  /** Stands before the log. */
  readonly redacting: RedactingStream | undefined;
  readonly controller: AbortController;
  progress: Progress | null;
  reportedAt: string | undefined;
  /** What is said of it is being recorded: nobody says anything else any more. */
  isSettling: boolean;
  /** The agent-server ends it: what its holder says is not recorded, and tells that nothing of it runs any more. */
  ending: PromiseWithResolvers<void> | undefined;
}

/** Milliseconds until it is tried again to record what could not be. */
export const retryMs = 500;

/** The tasks that this process holds, and what the store does not know of them yet. */
export class RunningTasks {
  readonly #options: RunningTasksOptions;
  readonly #running = new Map<string, Running>();
  readonly #recording = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(options: RunningTasksOptions) {
    this.#options = options;
  }

  ids(): string[] {
    return [...this.#running.keys()];
  }

  hold(task: TaskRecord): Lease {
    const controller = new AbortController();
    const { logTail: tail, logSeq: sequence, logTruncated: truncated } = task;
    const log = createLogTail(this.#options.logTailBytes(), { tail, sequence, truncated });
    const state = { progress: task.progress, reportedAt: undefined, isSettling: false, ending: undefined };
    const redacting = this.#options.redactor?.().stream();
    this.#running.set(task.id, { task, log, redacting, controller, ...state });
    return { task, signal: controller.signal };
  }

  append(lease: Lease, output: Uint8Array): void {
    const running = this.#held(lease);
    const shown = running?.redacting?.push(output) ?? output;
    if (shown.length > 0) running?.log.append(shown);
  }

  /** False when the lease is not the current one. */
  report(lease: Lease, progress: Progress): boolean {
    const running = this.#held(lease);
    if (running === undefined || running.isSettling) return false;
    running.progress = progress;
    running.reportedAt = timeText(this.#options.clock.now());
    return true;
  }

  abort(id: string, reason: Error): void {
    this.#running.get(id)?.controller.abort(reason);
  }

  /** Tries until it is recorded, or `close`. False when the lease is not the current one. */
  async record(lease: Lease, said: Said): Promise<boolean> {
    const running = this.#held(lease);
    running?.ending?.resolve();
    if (running === undefined || running.isSettling || running.ending !== undefined) return false;
    return this.#record(running, said);
  }

  /** What the store has of a task, and what only its holder knows. */
  withHeld(record: TaskRecord): TaskRecord {
    const running = record.status === 'running' ? this.#running.get(record.id) : undefined;
    if (running === undefined) return record;
    const { tail: logTail, sequence: logSeq, truncated: logTruncated } = logOf(running.log);
    const { progress, reportedAt } = running;
    return { ...record, updatedAt: reportedAt ?? record.updatedAt, progress, logTail, logSeq, logTruncated };
  }

  /** Aborts what runs. Resolves when every holder has said how it ended; that is not recorded, `close` decides. */
  async end(): Promise<void> {
    const all = [...this.#running.values()].filter(({ isSettling }) => !isSettling);
    const ends = all.map((running) => {
      running.ending ??= Promise.withResolvers();
      running.controller.abort(stopped());
      return running.ending.promise;
    });
    await Promise.all(ends);
  }

  /** Interrupts what runs; what is being recorded is tried once more. Then the holders are told. */
  async close(interrupted: Said): Promise<void> {
    this.#closing.abort();
    const all = [...this.#running.values()];
    for (const running of all)
      if (!running.isSettling) void this.#record(running, interrupted).catch(() => undefined);
    await Promise.allSettled(this.#recording);
    for (const { controller } of all) controller.abort(stopped());
  }

  /** While the lease is the current one. */
  #held({ task: { id, attempt } }: Lease): Running | undefined {
    const running = this.#running.get(id);
    return running?.task.attempt === attempt ? running : undefined;
  }

  async #record(running: Running, said: Said): Promise<boolean> {
    running.isSettling = true;
    const recording = this.#persist(running, said);
    this.#recording.add(recording);
    try {
      return await recording;
    } finally {
      this.#recording.delete(recording);
      if (this.#running.get(running.task.id) === running) this.#running.delete(running.task.id);
    }
  }

  async #persist({ task, log, redacting, progress }: Running, outcome: Said): Promise<boolean> {
    const { clock, record, redactor } = this.#options;
    const rest = redacting?.flush();
    if (rest !== undefined && rest.length > 0) log.append(rest);
    const said = withoutSecrets(outcome, redactor?.());
    const { id, attempt } = task;
    const held = { id, attempt, log: logOf(log), progress: jsonOrNull(progress) };
    for (;;) {
      const isLast = this.#closing.signal.aborted;
      try {
        return await record({ ...said, ...held, now: clock.now() });
      } catch (error) {
        if (isLast || !mayBeRecordedLater(error)) throw error;
        await clock.sleep(retryMs, this.#closing.signal).catch(() => undefined);
      }
    }
  }
}

/** What is kept of a failure copies what the tool wrote to standard error; a good result is its own. */
function withoutSecrets(said: Said, redactor: Redactor | undefined): Said {
  if (redactor === undefined || said.type !== 'settle' || said.error === null) return said;
  const clean = (text: string | null) => (text === null ? null : redactor.text(text));
  return {
    ...said,
    error: redactor.text(said.error),
    result: clean(said.result),
    rpcError: clean(said.rpcError),
  };
}

const stopped = () => new Error('The agent-server stops');

/** Nothing was kept of it, and nothing is wrong with it. */
function mayBeRecordedLater(error: unknown): boolean {
  return ['QueueUnavailable', 'QueueInUse', 'QueueDamaged'].includes(codeOf(error) ?? '');
}

function logOf(log: LogTail): StoredLog {
  return { tail: log.sequence === 0 ? '' : log.text(), sequence: log.sequence, truncated: log.truncated };
}
