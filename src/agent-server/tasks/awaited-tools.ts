import type { Clock } from '#kit/clock.ts';
import type { TaskQueue } from '../queue/queue.ts';

export interface AwaitedToolsOptions {
  readonly queue: RunnableQueue;
  readonly clock: Clock;
  readonly knows: (tool: string) => boolean;
}

/** Of a queue, what runs its tasks. */
export type RunnableQueue = Pick<TaskQueue, 'lease' | 'release' | 'settle' | 'progress' | 'onPending'>;

/** Milliseconds for which the tasks of a tool that is not there are left where they are. */
const goneMs = 60_000;
/** Milliseconds between two looks whether it has come back. */
const lookMs = 1000;

/**
 * The queue without the tasks of tools that are not there: a file of tools that is being written anew, or a checkout, may
 * bring them back in a moment, and a task that has failed is not run again. After a minute they are leased like others.
 */
export function awaitTools({ queue, clock, knows }: AwaitedToolsOptions): RunnableQueue & { close(): void } {
  /** When it was seen that a tool is gone, on the monotonic clock. */
  const goneSince = new Map<string, number>();
  const listeners = new Set<() => void>();
  let cancelLook: (() => void) | undefined;
  let isClosed = false;

  const isAwaited = (tool: string) => clock.monotonic() - (goneSince.get(tool) ?? -Infinity) < goneMs;
  function note(tool: string): void {
    if (!goneSince.has(tool)) goneSince.set(tool, clock.monotonic());
    if (!isClosed) cancelLook ??= clock.after(lookMs, look);
  }
  function look(): void {
    cancelLook = undefined;
    const before = [...goneSince.keys()];
    // Once its tasks have failed it is forgotten: the next one waits again.
    for (const [tool, since] of goneSince)
      if (knows(tool) || clock.monotonic() - since > 2 * goneMs) goneSince.delete(tool);
    if (goneSince.size > 0) cancelLook = clock.after(lookMs, look);
    if (before.some((tool) => !isAwaited(tool))) for (const listener of listeners) listener();
  }
  return {
    async lease(except = []) {
      for (;;) {
        const absent = [...goneSince.keys()].filter(isAwaited);
        const lease = await queue.lease([...except, ...absent]);
        const tool = lease?.task.toolName;
        if (lease === undefined || tool === undefined || knows(tool)) return lease;
        note(tool);
        if (!isAwaited(tool)) return lease;
        await queue.release(lease);
      }
    },
    release: (lease) => queue.release(lease),
    settle: (lease, outcome) => queue.settle(lease, outcome),
    progress: (lease, output) => queue.progress(lease, output),
    onPending(listener) {
      listeners.add(listener);
      const unsubscribe = queue.onPending(listener);
      return () => {
        listeners.delete(listener);
        unsubscribe();
      };
    },
    close() {
      isClosed = true;
      cancelLook?.();
    },
  };
}
