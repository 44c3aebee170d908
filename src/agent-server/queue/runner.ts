import { messageOf } from '#kit/errors.ts';
import type { Gate } from './gate.ts';
import type { Lease, Outcome, TaskQueue } from './queue.ts';

export interface TaskRunnerOptions {
  readonly queue: TaskQueue;
  /** Shared with calls that are not queued: one limit for every execution. */
  readonly gate: Gate;
  /** Executes one task. What it throws becomes the task's error; an abort of the lease's signal, `cancelled`. */
  readonly execute: (lease: Lease, onOutput: (bytes: Uint8Array) => void) => Promise<Outcome>;
}

/** Runs what is pending, in order, as the gate has room. Returns the stop function; tasks that run go on. */
export function startTaskRunner({ queue, gate, execute }: TaskRunnerOptions): () => void {
  const stopping = new AbortController();
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
      const leave = await gate.enter(stopping.signal).catch(() => undefined);
      const lease = leave && (await queue.lease());
      if (leave === undefined || lease === undefined) {
        leave?.();
        return;
      }
      void run(lease).finally(leave);
    }
  }
  async function run(lease: Lease): Promise<void> {
    const outcome = await execute(lease, (bytes) => queue.progress(lease, bytes)).catch(
      (error: unknown): Outcome =>
        lease.signal.aborted ? { status: 'cancelled' } : { status: 'failed', error: messageOf(error) },
    );
    await queue.settle(lease, outcome);
  }
  const unsubscribe = queue.onPending(() => void pump());
  void pump();
  return () => {
    unsubscribe();
    stopping.abort();
  };
}
