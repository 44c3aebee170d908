import { messageOf } from '#kit/errors.ts';
import type { Gate } from './gate.ts';
import type { Lease, Outcome, TaskQueue } from './queue.ts';

export interface TaskRunnerOptions {
  readonly queue: Pick<TaskQueue, 'lease' | 'settle' | 'progress' | 'onPending'>;
  /** Shared with calls that are not queued: one limit for every execution. */
  readonly gate: Gate;
  /** Executes one task. What it throws becomes the task's error; an abort of the lease's signal, `cancelled`. */
  readonly execute: (lease: Lease, onOutput: (bytes: Uint8Array) => void) => Promise<Outcome>;
  /** Tasks of one tool that may run at once. Default: as many as there are places. */
  readonly limitOf?: (toolName: string) => number | undefined;
}

/** Runs what is pending, in order, as the gate has room. Returns the stop function; tasks that run go on. */
export function startTaskRunner({ queue, gate, execute, limitOf }: TaskRunnerOptions): () => void {
  const stopping = new AbortController();
  const running = new Map<string, number>();
  let entering = false;
  let asked = false;

  async function pump(): Promise<void> {
    asked = true;
    if (entering) return;
    entering = true;
    while (asked && !stopping.signal.aborted) {
      asked = false;
      await startPending();
    }
    entering = false;
  }
  async function startPending(): Promise<void> {
    for (;;) {
      // However many calls wait, it waits in their row: nothing would announce what is pending once there is room.
      const leave = await gate.enterBeyond(stopping.signal).catch(() => undefined);
      if (leave === undefined) return;
      // What cannot be leased now is announced again once it can.
      const lease = await queue.lease(busyTools()).catch(() => undefined);
      if (lease === undefined) {
        leave();
        return;
      }
      void run(lease).finally(leave);
    }
  }
  async function run(lease: Lease): Promise<void> {
    const { toolName } = lease.task;
    running.set(toolName, (running.get(toolName) ?? 0) + 1);
    const outcome = await execute(lease, (bytes) => queue.progress(lease, bytes)).catch(
      (error: unknown): Outcome =>
        lease.signal.aborted ? { status: 'cancelled' } : { status: 'failed', error: messageOf(error) },
    );
    // Rejects when the queue was closed before it could be recorded: then the next start decides.
    await queue.settle(lease, outcome).catch(() => false);
    const left = (running.get(toolName) ?? 1) - 1;
    if (left === 0) running.delete(toolName);
    else running.set(toolName, left);
    if (limitOf?.(toolName) !== undefined) void pump();
  }
  function busyTools(): string[] {
    if (limitOf === undefined) return [];
    return [...running].flatMap(([tool, count]) => (count >= (limitOf(tool) ?? Infinity) ? [tool] : []));
  }
  const unsubscribe = queue.onPending(() => void pump());
  void pump();
  return () => {
    unsubscribe();
    stopping.abort();
  };
}
